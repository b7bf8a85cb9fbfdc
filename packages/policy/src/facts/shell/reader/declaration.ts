import type { Node } from "web-tree-sitter";
import type { Assignment, Statement, Word } from "../syntax.ts";
import { insideOf } from "./expansion.ts";
import type { Reader } from "./reader.ts";
import { readWord } from "./word.ts";

/** `NAME=value`, `NAME+=value`, `NAME[index]=value`. */
export function readAssignment(reader: Reader, node: Node): Assignment {
  const [name, operator, ...values] = reader.partsOf(node, "none");
  const appends = operator?.type === "+=";
  if (!name || (operator?.type !== "=" && !appends)) {
    reader.doubt("an assignment that could not be understood");
    return { name: "", value: [...insideOf(reader, node)], appends: false };
  }
  const value = values.flatMap((part) => readWord(reader, part));
  if (values.length > 1) reader.doubt("an assignment that could not be understood");
  if (name.type === "variable_name") return { name: reader.textOf(name), value, appends };
  const inside = [...insideOf(reader, name), ...value];
  const variable = name.firstChild ? reader.textOf(name.firstChild) : "";
  const part = { kind: "computed", inside, quoted: true, arithmetic: true, array: true } as const;
  return { name: variable, value: [part], appends };
}

/** `export`, `declare`, `typeset`, `local`, `readonly`, `unset`: words and assignments after a keyword. */
export function readDeclaration(reader: Reader, node: Node): Statement {
  const [keyword, ...parts] = reader.partsOf(node, "line");
  const assignments: Assignment[] = [];
  const words: Word[] = [];
  let end = keyword?.endIndex ?? -1;
  for (const part of parts) {
    reader.checkApart(end, part.startIndex);
    end = part.endIndex;
    if (part.type === "variable_assignment") assignments.push(readAssignment(reader, part));
    else if (part.type === "variable_name") {
      assignments.push({ name: reader.textOf(part), value: undefined, appends: false });
    } else words.push(readWord(reader, part));
  }
  return { kind: "declaration", keyword: keyword ? reader.textOf(keyword) : "", assignments, words };
}
