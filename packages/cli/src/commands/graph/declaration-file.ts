import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import {
  CARRIER_TOOL,
  type Graph,
  graphOfCalls,
  graphOfDeclaration,
  ProtocolError,
  readCarried,
  readDeclared,
} from "@reins/graph";
import { isRecord, parseExact } from "@reins/kit";
import { CliError, isNotFound } from "../../errors.ts";

/** What a file declares: a declaration as JSON, or a whole message of a model. */
export type DeclarationFile = { readonly declaration: unknown } | { readonly message: string };

/** Reads a file, or stdin for `-`. */
export async function readDeclarationFile(path: string): Promise<DeclarationFile> {
  const text = path === "-" ? await readAll(process.stdin) : await textIn(path);
  if (!/^\s*\{/.test(text)) return { message: text };
  try {
    return { declaration: parseExact(text) };
  } catch (error) {
    throw new CliError(`${path} begins like JSON and is none: ${String(error)}`, {
      next: "Give a declaration as JSON, or a message with a block ```json agent-protocol.",
    });
  }
}

/** The graph that a file declares; throws a {@link ProtocolError} that says what is wrong. */
export function graphIn(file: DeclarationFile): Graph | undefined {
  const context = { isEnabled: true, knowsTool: () => true };
  if ("message" in file) {
    const carried = readCarried({ text: file.message, calls: [], isComplete: true }, context);
    if (carried.kind === "calls") return graphOfCalls(carried.output);
    if (carried.kind !== "declaration")
      throw new ProtocolError(
        "malformed",
        "the message declares nothing: it has no block json agent-protocol",
      );
    const { declaration, sections } = carried;
    return isGraph(declaration) ? graphOfDeclaration(declaration, sections) : undefined;
  }
  if (isRecord(file.declaration) && file.declaration.kind !== undefined) {
    const call = { name: CARRIER_TOOL, arguments: JSON.stringify(file.declaration) };
    const carried = readCarried({ text: "", calls: [call], isComplete: true }, context);
    return carried.kind === "calls" ? graphOfCalls(carried.output) : undefined;
  }
  const declaration = readDeclared(file.declaration);
  return isGraph(declaration) ? graphOfDeclaration(declaration, []) : undefined;
}

type Declared = ReturnType<typeof readDeclared>;

function isGraph(
  declaration: Declared,
): declaration is Extract<Declared, { intent: "execute" | "plan" | "revise" }> {
  return ["execute", "plan", "revise"].includes(declaration.intent);
}

async function textIn(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotFound(error))
      throw new CliError(`There is no file ${path}.`, { next: "Name a file, or - for stdin." });
    throw error;
  }
}
