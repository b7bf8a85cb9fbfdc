/**
 * Says on stderr what is being done and for how long: a counting line on a terminal, one line every 15 seconds
 * elsewhere. stdout stays clean for the command that follows.
 * @param {string} what
 * @returns {{ end(outcome: string): void }}
 */
export function showProgress(what) {
  const began = performance.now();
  const terminal = process.stderr.isTTY;
  const seconds = () => (performance.now() - began) / 1_000;
  process.stderr.write(terminal ? `${what} ...` : `${what} ...\n`);
  const timer = setInterval(
    () =>
      process.stderr.write(
        terminal ? `\r${what} ... ${Math.round(seconds())} s` : `... ${Math.round(seconds())} s\n`,
      ),
    terminal ? 1_000 : 15_000,
  );
  return {
    end(outcome) {
      clearInterval(timer);
      process.stderr.write(`${terminal ? "\n" : ""}${outcome} in ${seconds().toFixed(1)} s.\n`);
    },
  };
}
