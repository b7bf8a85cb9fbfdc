import { MARK } from "../../mark.ts";
import type { AssignedName } from "./assigned-name.ts";

/** How a value is written: between quotes, bare, or as a shell has it in `NAME=value`. */
export type Writing = "quoted" | "bare" | "shell";

/** Whether a value, or the first of it, is a secret, given the name it is assigned to. */
export function isSecretValue(value: string, name: AssignedName, writing: Writing): boolean {
  if (value.length < (name.strong || writing === "shell" ? 6 : 8)) return false;
  if (value.includes(MARK) || standsForAnother(value, writing) || isPlace(value)) return false;
  if (isOfCode(value, writing)) return false;
  if (isDrawn(value)) return true;
  if (!name.plain) return false;
  if (writing === "shell") return true;
  if (!name.strong && PUBLIC.test(value)) return false;
  if (NAMED.test(value) && !(/\d/.test(value) && SPECIAL.test(value))) return false;
  if (/\s/.test(value)) return name.strong && /\d/.test(value) && SPECIAL.test(value);
  if (/^[\d.,_]+$/.test(value)) return name.strong && /^\d+$/.test(value);
  if (/\d/.test(value)) return /\p{L}/u.test(value);
  if (!name.strong) return false;
  return SPECIAL.test(value) || (writing === "quoted" && /^[a-z]{8,}$/.test(value) && !COMMON.has(value));
}

/** Whether a value has begun in a way that is better not shown before the rest of it is known. */
export function mayBeSecretValue(begun: string, name: AssignedName, writing: Writing): boolean {
  if (isSecretValue(begun, name, writing)) return true;
  if (!name.strong || !name.plain || writing === "bare") return false;
  return (
    begun !== "" && !/^[)\]},;]|[\s[\]]/.test(begun) && !standsForAnother(begun, writing) && !isPlace(begun)
  );
}

const SPECIAL = /[!@#$%^&*~+=?]/;
const NAMED = /passw|secret|token|api.?key|credential|passphrase/i;
/** The address of a crypto token; a name with a number, as `spacing-4`. */
const PUBLIC = /^0x[0-9a-f]{40}$|^[a-z]+(?:[-_.][a-z]+)*[-_.]\d{1,3}$/i;

/** Words that describe a secret in schemas, forms and messages. */
const COMMON = new Set(
  (
    "anonymous argument blank boolean changed datetime default disabled encrypted enabled example expired external " +
    "forgotten function generated hashed hidden identifier incorrect integer internal invalid masked missing mismatch " +
    "nullable optional placeholder plaintext property protected readonly redacted reference required rotated " +
    "sensitive temporary undefined unchanged unknown username variable verified writeonly"
  ).split(" "),
);

/** A variable, a template, a hole to be filled in. */
function standsForAnother(value: string, writing: Writing): boolean {
  if (REFERENCES.some((reference) => reference.test(value)) || value.includes("${") || value.includes("{{"))
    return true;
  return writing === "bare" && /^[<[(*@&!]/.test(value);
}

const REFERENCES = [
  /^(?:\$[A-Za-z_{(]|%[A-Za-z_({]|#\{|\{)/,
  /^[<[(][\w .:/-]*[>\])]?$/,
  /^(?:•|…|\.\.\.|-----|x{3,}(?![a-z0-9])|your[-_ ])/i,
  /^(.)\1*$/,
];

/** A path, an address, a date. */
function isPlace(value: string): boolean {
  if (/^[a-z][a-z+.-]*:\/\//i.test(value) || /^\d{4}-\d\d-\d\d/.test(value)) return true;
  return /^@?(?:~|\.{1,2})?(?:\/[\w.@+-]+)+\/?$/.test(value) && !/[A-Za-z0-9+]{20}/.test(value);
}

/** Letters and digits as chance mixes them. */
function isDrawn(value: string): boolean {
  const run = /[A-Za-z0-9]{16,}/.exec(value)?.[0] ?? "";
  return /\d[^\d]*\d/.test(run) && /[A-Za-z]\d*[A-Za-z]/.test(run) && !PUBLIC.test(value);
}

/** Members of members, as `process.env.TOKEN`, types with a number, as `Uint8Array`, and `getToken2`. */
function isOfCode(value: string, writing: Writing): boolean {
  if (/^(?:process\.env|import\.meta|os\.environ|env\.)/.test(value)) return true;
  if (writing !== "bare" || (value.match(/[A-Za-z]\d|\d[A-Za-z]/g)?.length ?? 0) > 3) return false;
  if (/^[A-Z][a-z]+\d*[A-Z][a-z]+$/.test(value)) return true;
  if (!/^[\p{L}_$][\w$]*(?:(?:\.|->|::|\?\.)[\p{L}_$][\w$]*)*$/u.test(value)) return false;
  return /[.>:]/.test(value) || NAMED.test(value);
}
