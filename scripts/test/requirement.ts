import { describe, it } from "vitest";

/** Declares a suite, as vitest's `describe` does. */
export type DeclareSuite = (title: string, suite: () => void) => void;

/**
 * `describe` for a suite that needs something this machine may not have. Without it the suite is skipped and the
 * run's summary names it; where `CI` is set, it fails.
 *
 * @example requirement("Unix sockets", process.platform !== "win32", "Windows has none")("the socket", () => { … });
 */
export function requirement(
  name: string,
  available: boolean,
  why: string,
  inCI = Boolean(process.env.CI),
): DeclareSuite {
  if (available) return (title, suite) => void describe(title, suite);
  if (!inCI) return (title, suite) => void describe.skip(`${title} (needs ${name}: ${why})`, suite);
  return (title) =>
    void it(title, () => {
      throw new Error(`Needs ${name}: ${why}. With CI set, that is a failure.`);
    });
}
