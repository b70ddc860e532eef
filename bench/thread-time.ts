/** Microseconds that this thread has run. The time that other threads and programs took from it is not in it. */
export function threadUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
