import { isNode, LineCounter, parseDocument } from "yaml";
import { type FilePlace, PolicyError, type PolicyFault } from "../policy-error.ts";
import { ConstitutionFile } from "./constitution.ts";

/** Reads `constitution.yaml`; what is wrong with it is told with line and column. */
export function readConstitution(text: string, file: string): ConstitutionFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  const placeAt = (offset: number | undefined): FilePlace | undefined => {
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const unreadable: PolicyFault[] = document.errors.map(({ message, pos }) => ({
    message: message.split("\n", 1)[0] ?? message,
    place: placeAt(pos[0]),
  }));
  if (unreadable.length > 0) throw new PolicyError(file, unreadable);
  const checked = ConstitutionFile.safeParse(document.toJS() ?? {});
  if (checked.success) return checked.data;
  const placeOf = (path: readonly PropertyKey[]): FilePlace | undefined => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return placeAt(node.range[0]);
    }
    return undefined;
  };
  const faults = checked.error.issues.map(({ message, path }) => ({
    message: path.length > 0 ? `${path.map(String).join(".")}: ${message}` : message,
    place: placeOf(path),
  }));
  throw new PolicyError(file, faults);
}
