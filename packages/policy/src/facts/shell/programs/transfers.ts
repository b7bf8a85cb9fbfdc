import { posix } from "node:path";
import { fileFilterOf } from "../../file-filter.ts";
import { hostName } from "../../host.ts";
import { noteMoved } from "../shell.ts";
import { knownValue, unknownValue, type Value } from "../value.ts";
import { joined } from "./builtins.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { inFolder, readByTable } from "./table-program.ts";
import { type Answer, type Call, type Handler, hidden, readWords } from "./words.ts";

/** Programs that speak to other machines and need more than a table says. */
export const NETWORK: readonly (readonly [string, Handler])[] = [
  ["curl", curl],
  ["wget", wget],
  ["ssh", ssh],
];

function curl(call: Call): Answer {
  const entry = programOf("curl") ?? {};
  const { operands, present, options } = readWords(call.words, entry);
  const answer = readByTable(call.shell, "curl", entry, call.words, call.scope);
  // `#1` in a name is what the first pattern of the address stands for.
  if (options.some(({ name, value }) => /^o(?:utput)?$/.test(name) && /#\d/.test(value.start)))
    applyRole("overwrite", unknownValue(false), { ...call, deep: false });
  if (present.has("O") || present.has("remote-name") || present.has("remote-name-all")) {
    for (const address of operands) saveAs(call, address);
  }
  const formats = options.filter(({ name }) => name === "w" || name === "write-out");
  for (const { value } of formats) writeOut(call, value);
  return formats.some(({ value }) => value.start.startsWith("@"))
    ? hidden(call, "curl prints by a format that a file holds")
    : answer;
}

/** `%output{file}` in a format sends what follows to a file. */
function writeOut(call: Call, { text }: Value): void {
  const names = [...(text ?? "%output{}").matchAll(/%output\{(?:>>)?([^}]*)/g)].map(([, name = ""]) => name);
  for (const name of names)
    applyRole("overwrite", name === "" ? unknownValue(false) : knownValue(name), { ...call, deep: false });
}

/** Options of wget with which it makes folders by the address, and those by which the server chooses the name. */
const BY_ADDRESS =
  "r recursive m mirror p page-requisites x force-directories content-disposition trust-server-names".split(
    " ",
  );

function wget(call: Call): Answer {
  const entry = programOf("wget") ?? {};
  const { operands, present } = readWords(call.words, entry);
  const answer = readByTable(call.shell, "wget", entry, call.words, call.scope);
  const isKept = !present.has("O") && !present.has("output-document") && !present.has("spider");
  const isFilled = isKept && BY_ADDRESS.some((option) => present.has(option));
  if (isFilled) applyRole("fill", undefined, { ...call, deep: false });
  else if (isKept) for (const address of operands) saveAs(call, address);
  return answer;
}

/** The file gets the address's last part for a name, or one that the server chooses. */
function saveAs(call: Call, address: Value): void {
  const path = URL.parse(address.text ?? "")?.pathname ?? "";
  const name = posix.basename(path);
  const file = /^[\w.+-]+$/.test(name) && !name.startsWith(".") ? knownValue(name) : unknownValue(false);
  applyRole("overwrite", file, { ...call, deep: false });
}

/** What runs on the other machine is put down as if it ran here, for lack of eyes there. */
function ssh(call: Call): Answer {
  const { operands, options } = readWords(call.words, programOf("ssh") ?? {}, { stopsAtOperand: true });
  const [host, ...command] = operands;
  for (const { value, role } of options) applyRole(role, value, { ...call, deep: false });
  const name = host?.text
    ?.replace(/^ssh:\/\//, "")
    .replace(/^.*@/, "")
    .replace(/:\d+$/, "");
  call.shell.findings.add({ kind: "net", host: name === undefined ? "*" : hostName(name) });
  if (command.length > 0) {
    const there = call.scope.child();
    there.folders = undefined;
    call.shell.runText(joined(command), there, "ssh runs what is only known at run time");
  }
  return hidden(call, "ssh acts on another machine");
}

/** `tar`, with or without a dash before its letters. */
export const tarProgram: Handler = (call) => {
  const [first, ...rest] = call.words;
  const isOld = first?.text != null && /^[A-Za-z]+$/.test(first.text);
  const words = isOld ? oldStyle(first.text ?? "", rest) : call.words;
  const read = readWords(words, programOf("tar") ?? {});
  const { operands, options, present, doubts } = read;
  const inside = inFolder(read, call.scope);
  const has = (...names: readonly string[]): boolean => names.some((name) => present.has(name));
  const archive = options.find(({ role }) => role === "remote-read")?.value;
  const setting = { ...call, deep: false };
  for (const { value, role } of options) if (role === "read") applyRole("read", value, setting);
  const creates = has("c", "create", "r", "append", "u", "update", "A");
  if (archive) applyRole(creates ? "remote-write" : "remote-read", archive, setting);
  if (creates) {
    const role = has("h", "dereference") ? "follow" : "tree";
    // Behind what is packed, `--exclude` leaves nothing out.
    const filter = fileFilterOf("tar", readWords(words, programOf("tar") ?? {}, { stopsAtOperand: true }));
    for (const operand of operands) applyRole(role, operand, { ...setting, scope: inside, filter });
  } else if (has("x", "extract", "get")) {
    applyRole("overwrite", undefined, { ...setting, scope: inside, deep: true });
    noteMoved(knownValue("."), inside, false);
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
