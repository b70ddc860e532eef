/* Preloaded into a server, so that nothing it writes is durable: for measuring what durability costs. */
int fsync(int descriptor) { return 0 * descriptor; }
int fdatasync(int descriptor) { return 0 * descriptor; }
