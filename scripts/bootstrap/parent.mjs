const CHECK_EVERY_MS = 1_000;

/**
 * Calls back when the shell that npm started us in is gone. npm passes SIGTERM to that shell only, and a shell such
 * as dash dies of it without telling its child, which would be left running alone.
 * @param {() => void} onGone
 */
export function watchParent(onGone) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, CHECK_EVERY_MS);
  timer.unref();
}
