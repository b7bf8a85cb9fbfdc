import { fileFilterOf } from "../../file-filter.ts";
import { noteMoved } from "../shell.ts";
import { knownValue, type Value } from "../value.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { foldersAfter } from "./table-program.ts";
import { type Handler, hidden, readWords } from "./words.ts";

/** `tar`, with or without a dash before its letters. */
export const tarProgram: Handler = (call) => {
  const [first, ...rest] = call.words;
  const isOld = first?.text != null && /^[A-Za-z]+$/.test(first.text);
  const words = isOld ? oldStyle(first.text ?? "", rest) : call.words;
  const read = readWords(words, programOf("tar") ?? {});
  const { operands, options, present, doubts } = read;
  const folder = options.findLast(({ role }) => role === "folder")?.value;
  const inside = folder
    ? Object.assign(call.scope.copy(), { folders: foldersAfter(folder, call.scope) })
    : call.scope;
  const has = (...names: readonly string[]): boolean => names.some((name) => present.has(name));
  const archive = options.find(({ role }) => role === "remote-read")?.value;
  const setting = { ...call, deep: false };
  for (const { value, role } of options) if (role === "read") applyRole("read", value, setting);
  const creates = has("c", "create", "r", "append", "u", "update", "A");
  if (archive) applyRole(creates ? "remote-write" : "remote-read", archive, setting);
  if (creates) {
    const role = has("h", "dereference") ? "follow" : "tree";
    const filter = fileFilterOf("tar", read);
    for (const operand of operands) applyRole(role, operand, { ...setting, scope: inside, filter });
  } else if (has("x", "extract", "get")) {
    applyRole("overwrite", undefined, { ...setting, scope: inside, deep: true });
    noteMoved(knownValue("."), inside, false);
    call.scope.moved = inside.moved;
    call.shell.findings.doubt("what an archive holds, and where it puts it, is not known");
  }
  if (doubts.length > 0) return hidden(call, `tar: ${doubts[0]}`);
  return creates || has("x", "extract", "get", "t", "list")
    ? { opaque: false }
    : hidden(call, "tar without a known task");
};

/** In the old style the values follow in the order of their letters. */
function oldStyle(letters: string, rest: readonly Value[]): readonly Value[] {
  const words: Value[] = [];
  let next = 0;
  for (const letter of letters) {
    words.push(knownValue(`-${letter}`));
    const value = rest[next];
    if ("fCTXb".includes(letter) && value) {
      words.push(value);
      next += 1;
    }
  }
  return [...words, ...rest.slice(next)];
}
