import { isScalar, LineCounter, parseDocument, visit } from "yaml";
import { type FilePlace, PolicyError, type PolicyFault } from "../policy-error.ts";
import { ConstitutionFile } from "./constitution.ts";
import { faultsOf } from "./faults.ts";

/** Reads `constitution.yaml`; reports faults with line and column. */
export function readConstitution(text: string, file: string): ConstitutionFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  const placeAt = (offset: number | undefined): FilePlace | undefined => {
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const unreadable: PolicyFault[] = [...document.errors, ...document.warnings].map(({ message, pos }) => ({
    message: message.replace(/ at line \d+, column \d+:[\s\S]*$/, ""),
    place: placeAt(pos[0]),
  }));
  visit(document, {
    Pair: (_, { key }) => {
      // Objects lose a member of this name on the way, and with it what it says.
      if (isScalar(key) && key.value === "__proto__")
        unreadable.push({ message: 'no member can be called "__proto__"', place: placeAt(key.range?.[0]) });
    },
  });
  if (unreadable.length > 0) throw new PolicyError(file, unreadable);
  // Files are read seldom: to compile the schema first would take longer than it saves.
  const checked = ConstitutionFile.safeParse(document.toJS() ?? {}, { jitless: true });
  if (checked.success) return checked.data;
  throw new PolicyError(file, faultsOf(checked.error.issues, document, placeAt));
}
