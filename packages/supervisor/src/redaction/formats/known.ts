import type { Format } from "../format.ts";
import { assignments } from "./assignment/assignment.ts";
import { authorizations } from "./authorization.ts";
import { cookie } from "./cookie.ts";
import { patternFormat } from "./pattern-format.ts";
import { privateKeys } from "./private-key.ts";
import { TOKENS } from "./tokens.ts";
import { urlPassword } from "./url-password.ts";
import { userOption } from "./user-option.ts";

/** The forms of secrets that are known without being told. */
export const KNOWN_FORMATS: readonly Format[] = [
  ...TOKENS.map(patternFormat),
  ...privateKeys,
  urlPassword,
  ...authorizations,
  cookie,
  userOption,
  ...assignments,
];
