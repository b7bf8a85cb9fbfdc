import { pause, within } from "../bounds.ts";
import type { Harness } from "./harness.ts";
import type { Report } from "./settings.ts";

const LOOK_MS = 100;

/** Waits until a harness is as it should be. */
export async function until(
  harness: Harness,
  what: string,
  holds: (report: Report) => boolean,
): Promise<void> {
  let over = false;
  const look = async () => {
    while (!over && !holds(await harness.report())) await pause(LOOK_MS);
  };
  await within(what, look()).finally(() => {
    over = true;
  });
}
