import { type DeclareSuite, requirement } from "../../../scripts/test/requirement.ts";
import type { Sandbox } from "../src/sandbox/confine.ts";
import { obtainSandbox } from "./bubblewrap.ts";

const status = await obtainSandbox();
const why = status.available ? "" : `${status.reason} ${status.remedy}`;
if (!status.available) console.error(`CONFINEMENT IS NOT TESTED: ${why}`);

/** The sandbox that {@link describeConfined} has. */
export const sandbox: Sandbox = status.available ? status : { available: true, path: "", version: "" };

/** `describe` for a suite that needs a sandbox. Without one it is skipped, even in CI: not every kernel allows it. */
export const describeConfined: DeclareSuite = requirement("bubblewrap", status.available, why, false);
