import { readFileSync } from "node:fs";
import type { z } from "zod";
import { AhpError } from "../src/errors.ts";
import type { BlockingEventType, SpecialisedEventType } from "../src/protocol/event.ts";
import { DECISIONS, type Decisions } from "../src/protocol/families.ts";
import { QueryResponse } from "../src/protocol/messages.ts";
import { NOT_SUPPORTED } from "../src/server/event.ts";
import type { EventCall, Handlers } from "../src/server/handlers.ts";
import { decode, isObject } from "../src/wire/decode.ts";

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

const file = new URL("../vectors/ahp-2.4.jsonl", import.meta.url);

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

/**
 * The harness the vectors were recorded with: `payload.__err` fails, `payload.__decide` is the decision,
 * `payload.__answer` the answer to a query; otherwise upstream's defaults. `calls` gets the generic callbacks
 * that ran.
 */
export function vectorHandlers(calls: string[] = []): Handlers {
  return {
    event(event) {
      calls.push(`handle_event:${event.event_type}`);
      return scripted("pre_action", event.payload) ?? { decision: "allow" };
    },
    notification(event) {
      calls.push(`handle_notification:${event.event_type}`);
      scripted("pre_action", event.payload);
    },
    idle: (_, { event }) => scripted("idle", event.payload) ?? { decision: "allow" },
    context_perception: specialised("context_perception"),
    memory_recall: specialised("memory_recall"),
    planning: specialised("planning"),
    reasoning: specialised("reasoning"),
    rate_limit: specialised("rate_limit"),
    confirmation: specialised("confirmation"),
    intent_detection: specialised("intent_detection"),
    query({ payload }) {
      if (isObject(payload) && payload.__answer !== undefined) return decode(QueryResponse, payload.__answer);
      scripted("query", payload);
      throw new AhpError("unsupported", NOT_SUPPORTED["ahp/query"]);
    },
  };
}

function specialised<Type extends Exclude<SpecialisedEventType, "idle">>(type: Type) {
  return (_: unknown, { event }: EventCall): Decisions[Type] => {
    const decision = scripted(type, event.payload);
    if (decision) return decision;
    throw new AhpError("unsupported", NOT_SUPPORTED[type]);
  };
}

function scripted<Type extends BlockingEventType>(type: Type, payload: unknown): Decisions[Type] | undefined {
  const schemas: { readonly [Key in BlockingEventType]: z.ZodType<Decisions[Key]> } = DECISIONS;
  if (!isObject(payload)) return undefined;
  if (typeof payload.__err === "string") throw new AhpError("protocol", payload.__err);
  return payload.__decide === undefined ? undefined : decode(schemas[type], payload.__decide);
}
