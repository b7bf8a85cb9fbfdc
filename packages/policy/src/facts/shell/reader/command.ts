import type { Node } from "web-tree-sitter";
import type { Assignment, Redirect, Statement, Word } from "../syntax.ts";
import { readAssignment } from "./declaration.ts";
import type { Reader } from "./reader.ts";
import { readFileRedirect, readHereString } from "./redirect.ts";
import { readUnknown } from "./statement.ts";
import { readWord } from "./word.ts";

/** A simple command: assignments, words and redirections in any order. */
export function readCommand(reader: Reader, node: Node): Statement {
  const assignments: Assignment[] = [];
  const words: Word[] = [];
  const redirects: Redirect[] = [];
  const strange: Statement[] = [];
  let wordEnd = -1;
  for (const part of reader.partsOf(node, "line")) {
    switch (part.type) {
      case "variable_assignment":
        assignments.push(readAssignment(reader, part));
        break;
      case "file_redirect": {
        const { redirect, rest } = readFileRedirect(reader, part);
        redirects.push(redirect);
        words.push(...rest);
        break;
      }
      case "herestring_redirect":
        redirects.push(readHereString(reader, part));
        break;
      case "subshell":
      case "ERROR":
        strange.push(readUnknown(reader, part));
        break;
      default:
        reader.checkApart(wordEnd, part.startIndex);
        wordEnd = part.endIndex;
        words.push(readWord(reader, part));
    }
  }
  const command: Statement = { kind: "command", assignments, words, redirects };
  return strange.length === 0 ? command : { kind: "sequence", statements: [command, ...strange] };
}
