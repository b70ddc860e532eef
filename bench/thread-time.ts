/** Microseconds that this thread has run, without the time that other threads and programs took. */
export function threadUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
