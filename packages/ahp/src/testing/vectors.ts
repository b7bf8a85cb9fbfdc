import { readFileSync } from "node:fs";

/** One message to a server and what upstream answered. */
export interface ServerVector {
  readonly kind: "server";
  readonly line: number;
  readonly in: string;
  readonly out: string | null;
  readonly http?: { readonly status: number; readonly body?: string };
  readonly calls?: readonly string[];
  readonly config?: { readonly batch_size?: number; readonly max_depth?: number };
}

/** One value of a named type and how upstream wrote it again, or why it did not. */
export interface TypeVector {
  readonly kind: "type";
  readonly line: number;
  readonly type: string;
  readonly in: string;
  readonly out?: string;
  readonly err?: string;
}

const file = new URL("../../vectors/ahp-2.4.jsonl", import.meta.url);

/** The observed behaviour of AHP 2.4.0, as recorded; the first line of the file says how. */
export function readVectors(): { servers: ServerVector[]; types: TypeVector[] } {
  const servers: ServerVector[] = [];
  const types: TypeVector[] = [];
  for (const [index, text] of readFileSync(file, "utf8").trimEnd().split("\n").entries()) {
    const vector: { kind: string } = JSON.parse(text);
    Object.assign(vector, { line: index + 1 });
    if (isServer(vector)) servers.push(vector);
    if (isType(vector)) types.push(vector);
  }
  return { servers, types };
}

function isServer(vector: { kind: string }): vector is ServerVector {
  return vector.kind === "server";
}

function isType(vector: { kind: string }): vector is TypeVector {
  return vector.kind === "type";
}
