import { AgentError } from "../agent-error.ts";

/** A leading dash is allowed by npm and refused here: on a command line it reads as an option. */
const NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const EXACT = /^\d+\.\d+\.\d+(?:-[\dA-Za-z.-]+)?(?:\+[\dA-Za-z.-]+)?$/;
const TAG = /^[A-Za-z][\w.~-]*$/;
/** What npm reads as a range although it looks like a tag: `v1`, `x`, `v2.x`. */
const RANGE = /^v?(?:\d|[xX](?:\.|$))/;
const LONGEST_NAME = 214;
const LONGEST_VERSION = 128;

/** Whether npm would take a text for the name of a package. Paths, URLs and options are none. */
export function isPackageName(text: string): boolean {
  return text.length <= LONGEST_NAME && NAME.test(text);
}

/** Whether a text is an exact version or a dist-tag. Ranges, aliases, paths and URLs are neither. */
export function isVersionOrTag(text: string): boolean {
  if (text.length > LONGEST_VERSION) return false;
  return EXACT.test(text) || (TAG.test(text) && !RANGE.test(text));
}

/** Refuses a version before anything is fetched; `what` names whose it is. */
export function expectVersion(what: string, version: string | undefined): void {
  if (version === undefined || isVersionOrTag(version)) return;
  throw new AgentError(
    "invalid_version",
    `${JSON.stringify(version)} is neither a version of ${what}, such as 1.2.3, nor a tag, such as latest.`,
  );
}
