import { posix } from "node:path";
import { hostName } from "../../host.ts";
import { knownValue, unknownValue, type Value } from "../value.ts";
import { joined } from "./builtins.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { readByTable } from "./table-program.ts";
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
  return answer;
}

function wget(call: Call): Answer {
  const entry = programOf("wget") ?? {};
  const { operands, present } = readWords(call.words, entry);
  const answer = readByTable(call.shell, "wget", entry, call.words, call.scope);
  const isKept = !present.has("O") && !present.has("output-document") && !present.has("spider");
  if (isKept) for (const address of operands) saveAs(call, address);
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
    const there = call.scope.copy();
    there.folders = undefined;
    call.shell.runText(joined(command), there, "ssh runs what is only known at run time");
  }
  return hidden(call, "ssh acts on another machine");
}
