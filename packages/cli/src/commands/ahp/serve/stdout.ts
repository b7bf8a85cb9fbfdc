/**
 * Takes stdout away from everybody else and gives it back to the caller alone: from now on `console.log` and
 * `process.stdout` mean stderr. A handler module that prints cannot break the protocol.
 */
export function claimStdout(): NodeJS.WriteStream {
  const { stdout, stderr } = process;
  Object.defineProperty(process, "stdout", { value: stderr, configurable: true, enumerable: true });
  return stdout;
}
