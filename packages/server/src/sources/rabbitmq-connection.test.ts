import { expect, test } from "vitest"
import { TcpProxy } from "../../../../test/support/tcp-proxy.testing.ts"
import { closed, connectRabbitMq } from "./rabbitmq-connection.ts"
import { describeWithRabbitMq, rabbitMqAddress, testQueue } from "./rabbitmq.testing.ts"

describeWithRabbitMq("a connection to RabbitMQ", () => {
  test.each(["connection", "channel"] as const)(
    "a %s that is lost before the server consents to its end counts as closed",
    async (which) => {
      await using network = await TcpProxy.to(rabbitMqAddress.port)
      await using queue = await testQueue()
      const url = `amqp://127.0.0.1:${network.port}`
      const connection = await connectRabbitMq({ ...queue.settings, url })
      const channel = await connection.createChannel()
      const closing = closed(which === "connection" ? connection : channel)
      network.set("cut")
      await closing
      // Both are lost now: to close them again does no harm.
      await closed(channel)
      await closed(connection)
      expect(network.hits).toBeGreaterThan(0)
    },
  )
})
