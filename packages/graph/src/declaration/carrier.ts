import { errorMessage, faultSentences, isRecord, parseExact } from "@reins/kit";
import { z } from "zod";
import {
  CARRIER_TOOL,
  DECLARED_PAYLOADS,
  DeclarationEnvelope,
  INTENTS,
  type ProtocolDeclaration,
  ProtocolOutput,
  VERSION,
} from "./grammar.ts";
import { type FencedBlock, fenced, type MarkdownSection, readMarkdown } from "./markdown.ts";
import { ProtocolError } from "./protocol-error.ts";

/** A complete message of a model: what it says, and the tool calls that its provider's protocol carries. */
export interface AssistantMessage {
  readonly text: string;
  readonly calls: readonly NativeCall[];
  /** Whether the provider said that the message has ended by itself; one that was cut off declares nothing. */
  readonly isComplete: boolean;
}

/** A tool call by the provider's own protocol. */
export interface NativeCall {
  readonly name: string;
  /** The arguments as JSON, as the model wrote them. */
  readonly arguments: string;
}

/** What a model said beside or instead of the protocol; it is recorded and counted. */
export interface Violation {
  readonly kind: "block_beside_call" | "direct_request" | "direct_request_beside_declaration";
  readonly detail: string;
}

/** What a message means to the runtime. */
export type Carried =
  /** It declares nothing: it is for people. */
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "answer" | "done"; readonly message: string; readonly violations: readonly Violation[] }
  | {
      readonly kind: "calls";
      readonly output: Extract<ProtocolOutput, { kind: "act" }>;
      readonly carrier: "native" | "recovered";
      readonly raw: string;
      readonly violations: readonly Violation[];
    }
  | {
      readonly kind: "declaration";
      readonly declaration: ProtocolDeclaration;
      readonly sections: readonly MarkdownSection[];
      readonly carrier: "fenced";
      readonly raw: string;
      readonly violations: readonly Violation[];
    };

/** What the runtime knows when it reads a message. */
export interface CarrierContext {
  /** Whether the agent is configured for the protocol. Without that, everything is text. */
  readonly isEnabled: boolean;
  /** Whether a tool of this name may be requested directly. */
  readonly knowsTool: (name: string) => boolean;
}

const INFO = "json agent-protocol";
const TEXT_CALL = /^tool ([A-Za-z0-9][\w.-]{0,127}) <<'JSON'\n([\s\S]*)\nJSON\s*$/;
const LONGEST = 4 << 20;

/**
 * Reads what a complete message declares. A message that is not clear declares nothing: it throws a
 * {@link ProtocolError} that says how to put it.
 */
export function readCarried(message: AssistantMessage, context: CarrierContext): Carried {
  const { text, calls, isComplete } = message;
  if (!context.isEnabled) return { kind: "text", text };
  if (text.length > LONGEST)
    throw new ProtocolError("malformed", `the message is longer than ${LONGEST} characters`);
  const markdown = readMarkdown(text);
  const blocks = markdown.blocks.filter(({ info }) => info.replace(/\s+/g, " ") === INFO);
  const own = calls.filter(({ name }) => name === CARRIER_TOOL);
  const direct = calls.filter(({ name }) => name !== CARRIER_TOOL);
  const declares = own.length + blocks.length > 0 || direct.length > 0;
  if (declares && !isComplete)
    throw new ProtocolError(
      "malformed",
      "the message was cut off; nothing of it is executed. Declare it again, shorter",
    );
  if (own.length > 1)
    throw new ProtocolError(
      "ambiguous",
      `${own.length} calls of ${CARRIER_TOOL} in one message; make one with all calls`,
    );
  const beside = direct.map(
    ({ name }): Violation => ({
      kind: "direct_request_beside_declaration",
      detail: `a direct request of ${name}`,
    }),
  );
  const [call] = own;
  if (call) {
    const violations = [
      ...blocks.map(({ info }): Violation => ({ kind: "block_beside_call", detail: info })),
      ...beside,
    ];
    return readOutput(call.arguments, violations);
  }
  if (blocks.length > 1)
    throw new ProtocolError("ambiguous", `${blocks.length} declarations in one message; make one`);
  const [block] = blocks;
  if (block) return readDeclaration(block, markdown.sections, beside);
  if (markdown.openFence?.replace(/\s+/g, " ") === INFO)
    throw new ProtocolError("malformed", "the declaration's block is not closed; nothing of it is executed");
  return recover(direct, markdown.blocks, context) ?? { kind: "text", text };
}

/** Reads the arguments of the native carrier. */
function readOutput(raw: string, violations: readonly Violation[]): Carried {
  const output = read(ProtocolOutput, jsonIn(raw), "");
  if (output.kind === "act") return { kind: "calls", output, carrier: "native", raw, violations };
  return { kind: output.kind, message: output.message ?? "", violations };
}

function readDeclaration(
  { content }: FencedBlock,
  sections: readonly MarkdownSection[],
  violations: readonly Violation[],
): Carried {
  const declaration = readDeclared(jsonIn(content));
  const raw = declarationSource(content, sections);
  return { kind: "declaration", declaration, sections, carrier: "fenced", raw, violations };
}

/** A declaration of the full form as a message has it: its block, then its sections. */
export function declarationSource(json: string, sections: readonly MarkdownSection[]): string {
  const parts = [fenced(json, INFO)];
  let within = Number.POSITIVE_INFINITY;
  for (const { id, level, text } of sections) {
    // A section has those below it in its text. One that has the block itself is what the message says around it.
    if (level > within || text.includes(json)) continue;
    within = level;
    parts.push(`${"#".repeat(level)} ${id}${text === "" ? "" : `\n\n${text}`}`);
  }
  return parts.join("\n\n");
}

/** Reads a declaration of the full form; throws a {@link ProtocolError} that names the member that is wrong. */
export function readDeclared(value: unknown): ProtocolDeclaration {
  if (isRecord(value) && value.type !== "agent.protocol")
    throw new ProtocolError("malformed", 'has to be "agent.protocol"', { path: "type" });
  const { intent, payload: _, ...envelope } = read(DeclarationEnvelope, value, "");
  // As it was written: a record of the schema leaves out a member `__proto__`, and nothing is to be left out.
  const payload = isRecord(value) && isRecord(value.payload) ? value.payload : {};
  const versions = [envelope.version, ...(envelope.schema_evolution?.compatible_with ?? [])];
  if (!versions.includes(VERSION))
    throw new ProtocolError("version", `this runtime reads version ${VERSION}`, { path: "version" });
  const isDurable = envelope.execution?.mode === "durable";
  if (isDurable && envelope.persist === false)
    throw new ProtocolError("malformed", "a durable run is persisted; leave out persist or set it to true", {
      path: "persist",
    });
  const schemas: Readonly<Record<string, z.ZodType>> = DECLARED_PAYLOADS[intent];
  const type = payload.type ?? Object.keys(schemas)[0];
  const schema = typeof type === "string" && Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (!schema) {
    const types = Object.keys(schemas).join(" or ");
    throw new ProtocolError("malformed", `the intent ${intent} takes a payload of type ${types}`, {
      path: "payload.type",
    });
  }
  // The table has one schema for each intent and type, which the compiler cannot follow through a lookup by name.
  return {
    ...envelope,
    intent,
    payload: { ...Object(read(schema, payload, "payload")), type },
  } as ProtocolDeclaration;
}

/** Direct requests that are clear are taken for a call each would have declared; anything else fails closed. */
function recover(
  direct: readonly NativeCall[],
  blocks: readonly FencedBlock[],
  { knowsTool }: CarrierContext,
): Carried | undefined {
  const requests = [
    ...direct,
    ...blocks.flatMap(({ content }) => {
      const [, name, args] = TEXT_CALL.exec(content) ?? [];
      return name !== undefined && args !== undefined ? [{ name, arguments: args }] : [];
    }),
  ];
  const [request, ...others] = requests;
  if (!request) return undefined;
  const how = `declare it by one call of ${CARRIER_TOOL}, or in one block \`\`\`${INFO}`;
  if (others.length > 0)
    throw new ProtocolError("ambiguous", `${requests.length} direct requests in one message; ${how}`);
  if (!knowsTool(request.name))
    throw new ProtocolError(
      "executor",
      `there is no tool ${JSON.stringify(request.name)} to request directly; ${how}`,
    );
  const args = jsonIn(request.arguments === "" ? "{}" : request.arguments);
  if (!isRecord(args))
    throw new ProtocolError("malformed", `the arguments of ${request.name} are no object; ${how}`);
  const call = {
    id: `direct_${request.name}`,
    type: "tool" as const,
    name: request.name,
    args,
    result: "summary" as const,
  };
  const violations: Violation[] = [{ kind: "direct_request", detail: `a direct request of ${request.name}` }];
  const raw = JSON.stringify({ name: request.name, arguments: request.arguments });
  return { kind: "calls", output: { kind: "act", calls: [call] }, carrier: "recovered", raw, violations };
}

function jsonIn(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new ProtocolError(
      "malformed",
      `the declaration is no JSON that can be read: ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

/** Parses by a schema; the error names the first member that is wrong, and every other one. */
function read<Schema extends z.ZodType>(schema: Schema, value: unknown, within: string): z.infer<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const path = [within, ...(error.issues[0]?.path ?? [])]
    .filter((part) => part !== "")
    .map(String)
    .join(".");
  const known = within === "" && path === "intent" ? ` (${INTENTS.join(", ")})` : "";
  throw new ProtocolError("malformed", `${faultSentences(error, "the declaration")}${known}`, { path });
}

/** The one tool that a model is offered: its arguments carry a declaration. */
export interface CarrierTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of one object: the tools of most providers take no alternatives at the top. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

const [act] = ProtocolOutput.options;

/** The carrier as a tool of a model. What the arguments may hold in full is checked when they are read. */
export function carrierTool(): CarrierTool {
  const parameters = z.toJSONSchema(
    z.strictObject({
      kind: z
        .enum(["act", "answer", "done"])
        .describe("act executes calls, answer answers the user, done ends the turn"),
      message: act.shape.message.describe("Markdown for the user; an answer has to have it"),
      calls: act.shape.calls.optional().describe("for act: what the runtime is to execute"),
    }),
    { io: "input" },
  );
  const { $schema: _, ...rest } = parameters;
  return {
    name: CARRIER_TOOL,
    description: "Declares what the runtime is to do next. Make exactly one call in each message.",
    parameters: rest,
  };
}
