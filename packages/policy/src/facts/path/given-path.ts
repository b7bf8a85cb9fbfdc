import { fileURLToPath } from "node:url";

/** A path as a tool's argument gives it, made absolute but not yet followed; or why that is not possible. */
export type GivenPath = { readonly absolute: string } | { readonly doubt: string };

const COMPUTED = /\$\{|\$\(|\$[A-Z_]{2,}|`|%[A-Za-z_]+%/;

/**
 * Tools differ in what they make of `~`, of `file:` and of variables. What is read into them here is what reaches
 * furthest; what may be read in two ways is a doubt.
 */
export function givenPath(text: string, cwd: string, home: string): GivenPath {
  if (text.includes("\0")) return { doubt: "a path with a NUL character" };
  if (text.includes("\\")) return { doubt: "a path with a backslash" };
  if (COMPUTED.test(text)) return { doubt: "a path that may be computed from variables" };
  if (/^file:/i.test(text)) return fromUrl(text);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return { doubt: "an address in place of a path" };
  if (text === "~" || text.startsWith("~/")) return { absolute: home + text.slice(1) };
  if (/^~[^/]*(?:\/|$)/.test(text)) return { doubt: "a path in another user's home" };
  return { absolute: text.startsWith("/") ? text : `${cwd}/${text}` };
}

function fromUrl(text: string): GivenPath {
  try {
    return { absolute: fileURLToPath(text) };
  } catch {
    return { doubt: "a file: address that names no file of this machine" };
  }
}
