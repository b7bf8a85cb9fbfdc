import { text } from "node:stream/consumers";
import { EventType, parseExact } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { CliError } from "../../errors.ts";
import { readNamedFile } from "../../files.ts";

export interface GivenEvent {
  readonly event_type: EventType;
  readonly session_id: string | undefined;
  readonly agent_id: string | undefined;
  readonly depth: number;
  readonly payload: unknown;
}

/** Reads an event from a file, from JSON, or from stdin. */
export async function readEvent(source: string, input: NodeJS.ReadableStream): Promise<GivenEvent> {
  return asEvent(parse(await textFrom(source, input)));
}

const EXAMPLE = `{"tool_name":"bash","arguments":{"command":"ls"}}`;

async function textFrom(source: string, input: NodeJS.ReadableStream): Promise<string> {
  if (source === "-") return text(input);
  if (source.trimStart().startsWith("{")) return source;
  const next = `Give a file, - for stdin, or the JSON itself: '${EXAMPLE}'`;
  return readNamedFile(source, "The event cannot be read", next);
}

function parse(json: string): unknown {
  try {
    return parseExact(json);
  } catch (error) {
    throw new CliError(`The event is not JSON: ${errorMessage(error)}`, {
      next: `Give JSON such as ${EXAMPLE}.`,
      cause: error,
    });
  }
}

/** Keeps an AHP event; anything else is the payload of a `pre_action`. */
export function asEvent(value: unknown): GivenEvent {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CliError("The event is not a JSON object.", {
      next: `Give one such as ${EXAMPLE}.`,
    });
  const event: { readonly [name: string]: unknown } = { ...value };
  if (typeof event.event_type !== "string")
    return {
      event_type: "pre_action",
      session_id: undefined,
      agent_id: undefined,
      depth: 0,
      payload: value,
    };
  if (event.payload === undefined && event.tool_name !== undefined)
    throw new CliError("The event names a tool beside its payload, where it has no effect.", {
      next: `Give {"event_type":"${event.event_type}","payload":{"tool_name":…}}, or the payload alone.`,
    });
  const { data: event_type } = EventType.safeParse(event.event_type);
  if (event_type === undefined)
    throw new CliError(`There is no control event "${event.event_type}".`, {
      next: `Give one of ${EventType.options.join(", ")}.`,
    });
  return {
    event_type,
    session_id: textIn(event.session_id),
    agent_id: textIn(event.agent_id),
    depth: typeof event.depth === "number" ? event.depth : 0,
    payload: event.payload ?? {},
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
