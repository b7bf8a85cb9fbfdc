import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stdioChannel } from "../packages/acp/src/stdio-channel.ts";
import { readMessage } from "../packages/ahp/src/server/message.ts";
import { MessageReader } from "../packages/kit/src/messages.ts";
import { readMessages } from "../packages/mcp/src/message.ts";
import { readArgumentText } from "../packages/policy/src/facts/tool/tool-call.ts";
import { parseBody } from "../packages/server/src/gateway/request.ts";
import { frameIn } from "../packages/server/src/haak/haak-client.ts";

const REFUSED = Symbol("refused");

/** The parameters of a message as a border reads them, or {@link REFUSED}. */
type Border = (text: string) => unknown;

const BORDERS: Readonly<Record<string, Border>> = {
  "a body of HTTP (/v1/rpc, /acp, /v1/*)": (text) => {
    try {
      return paramsIn(parseBody(text));
    } catch {
      return REFUSED;
    }
  },
  "/ahp": (text) => {
    const message = readMessage(text, false, true);
    return message.kind === "request" ? message.params : REFUSED;
  },
  "/ws": (text) => {
    const frame = frameIn(text);
    return frame.kind === "request" ? frame.params : REFUSED;
  },
  "a line of an agent": (text) =>
    lastOf((input, take) => {
      new MessageReader(input, 1 << 24, { message: take, fault: () => undefined });
    }, text),
  "a line of a client on stdio": (text) =>
    lastOf((input, take) => stdioChannel(input, new PassThrough()).onMessage(take), text),
  MCP: (text) => {
    const messages = readMessages(text);
    return messages ? paramsIn(messages[0]) : REFUSED;
  },
  "arguments that a policy looks into": (text) => {
    const read = readArgumentText(text);
    return read.doubt === undefined && "value" in read ? paramsIn(read.value) : REFUSED;
  },
};

function lastOf(
  listen: (input: PassThrough, take: (message: object) => void) => void,
  text: string,
): Promise<unknown> {
  const input = new PassThrough();
  let last: unknown = REFUSED;
  listen(input, (message) => {
    last = paramsIn(message);
  });
  input.end(`${text.replaceAll("\n", " ")}\n`);
  return new Promise((resolve) => input.once("close", () => resolve(last)));
}

function paramsIn(message: unknown): unknown {
  return typeof message === "object" && message !== null ? Reflect.get(message, "params") : undefined;
}

/** Names that are written in several ways, or mean something to JavaScript. */
const NAMES = [
  "id",
  "method",
  "a",
  "ab",
  "",
  "__proto__",
  "constructor",
  'q"',
  "\\",
  "\n",
  "\t",
  "é",
  "😀",
  "/",
];

/** How one character of a name is written. */
type Spelling = "plain" | "hex" | "HEX";

interface Member {
  readonly name: string;
  readonly spelling: readonly Spelling[];
  readonly value: Node;
}
type Node =
  | { readonly kind: "plain"; readonly json: string }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "object"; readonly members: readonly Member[]; readonly space: string };

const spelling = fc.array(fc.constantFrom<Spelling>("plain", "hex", "HEX"), { minLength: 4, maxLength: 4 });
const { object } = fc.letrec<{ node: Node; object: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc
      .constantFrom("0", "-7", "true", "null", '"text"', '"{\\"a\\":1,\\"a\\":2}"', '"\\\\"')
      .map((json): Node => ({ kind: "plain", json })),
    fc.array(tie("node"), { maxLength: 3 }).map((items): Node => ({ kind: "list", items })),
    tie("object"),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), spelling, value: tie("node") }), {
        selector: ({ name }) => name,
        maxLength: 5,
      }),
      fc.constantFrom("", " ", "\n\t"),
    )
    .map(([members, space]): Node => ({ kind: "object", members, space })),
}));
/** The text of a value. */
function write(value: Node, spell: (member: Member) => string = written): string {
  switch (value.kind) {
    case "plain":
      return value.json;
    case "list":
      return `[${value.items.map((item) => write(item, spell)).join()}]`;
    case "object": {
      const { members, space } = value;
      return `{${members.map((one) => `${space}${spell(one)}${space}:${write(one.value, spell)}`).join()}}`;
    }
  }
}

/** A name as its spelling says, with quotes. */
function written({ name, spelling }: Pick<Member, "name" | "spelling">): string {
  const units = Array.from({ length: name.length }, (_, index) => {
    const how = spelling[index % spelling.length];
    const hex = name.charCodeAt(index).toString(16).padStart(4, "0");
    if (how === "hex") return `\\u${hex}`;
    if (how === "HEX") return `\\u${hex.toUpperCase()}`;
    return JSON.stringify(name[index] ?? "").slice(1, -1);
  });
  // Half of a pair is only JSON beside the other half.
  return `"${units.join("").replace(/\\ud83d\\ude00/, "😀")}"`;
}

/** The name that makes V8 misread another one: what stands before the first escape, and a backslash. */
function misleading(member: Member): string {
  const text = written(member).slice(1, -1);
  const at = text.indexOf("\\");
  return at < 0 ? `"${text}"` : JSON.stringify(`${text.slice(0, at)}\\`);
}

/** The value, made without parsing. */
function plainValue(value: Node): unknown {
  if (value.kind === "plain") return JSON.parse(value.json);
  if (value.kind === "list") return value.items.map(plainValue);
  const members = value.members.map((member) => [member.name, plainValue(member.value)] as const);
  return Object.fromEntries(members);
}

/** Every object in a value. */
function objectsIn(value: Node): readonly (Node & { kind: "object" })[] {
  if (value.kind === "plain") return [];
  if (value.kind === "list") return value.items.flatMap(objectsIn);
  return [value, ...value.members.flatMap((member) => objectsIn(member.value))];
}

/** The value with one more member in one of its objects, under a name that is there already. */
function withDuplicate(value: Node, target: Node, repeated: Member): Node {
  if (value.kind === "list")
    return { ...value, items: value.items.map((item) => withDuplicate(item, target, repeated)) };
  if (value.kind === "plain") return value;
  const members = value.members.map((member) => ({
    ...member,
    value: withDuplicate(member.value, target, repeated),
  }));
  return { ...value, members: value === target ? [...members, repeated] : members };
}

const message = (params: string) => `{"jsonrpc":"2.0","id":"1","method":"session/prompt","params":${params}}`;
const PROPERTY = { seed: 20_261_116, numRuns: 150 } as const;

describe.each(Object.entries(BORDERS))("%s", (_, read) => {
  test("reads names as they are written, whatever was read before", async () => {
    const property = fc.asyncProperty(object, async (params) => {
      for (let times = 0; times < 3; times += 1) JSON.parse(message(write(params, misleading)));
      expect(await read(message(write(params)))).toEqual(plainValue(params));
    });
    await fc.assert(property, PROPERTY);
  });

  test("refuses a member that is there twice, at any depth and in any spelling", async () => {
    const property = fc.asyncProperty(object, fc.nat(), spelling, async (params, pick, respelled) => {
      const candidates = objectsIn(params).filter(({ members }) => members.length > 0);
      const target = candidates[pick % candidates.length];
      const member = target?.members[pick % target.members.length];
      fc.pre(target !== undefined && member !== undefined);
      const repeated: Member = { ...member, spelling: respelled, value: { kind: "plain", json: "9" } };
      const text = message(write(withDuplicate(params, target, repeated)));
      for (let times = 0; times < 3; times += 1) JSON.parse(message(write(params, misleading)));
      expect(await read(text)).toBe(REFUSED);
    });
    await fc.assert(property, PROPERTY);
  });

  test.each([
    ["jsonrpc", '{"jsonrpc":"2.0","\\u006asonrpc":"2.0","id":"1","method":"m","params":{}}'],
    ["id", '{"jsonrpc":"2.0","id":"1","\\u0069d":"2","method":"m","params":{}}'],
    ["method", '{"jsonrpc":"2.0","id":"1","method":"m","params":{},"metho\\u0064":"n"}'],
    ["params", '{"jsonrpc":"2.0","id":"1","params":{"a":1},"method":"m", "\\u0070arams" : {}}'],
  ])("refuses an envelope that has %s twice", async (_, text) => {
    expect(await read(text)).toBe(REFUSED);
  });

  test.each([
    [
      "last of 20,000 members",
      `{${Array.from({ length: 20_000 }, (_, index) => `"m${index}":0`).join()},"m0":1}`,
    ],
    ["beside a megabyte of text", `{"a":"${'\\"a\\":'.repeat(200_000)}","\\u0061":1}`],
    ["in the last of 5,000 objects", `{"l":[${'{"a":1},'.repeat(5_000)}{"a":1,"a":2}]}`],
    ["50 levels down", `${'{"a":['.repeat(25)}{"a":1,"\\u0061":2}${"]}".repeat(25)}`],
  ])("refuses a duplicate %s", async (_, params) => {
    expect(await read(message(params))).toBe(REFUSED);
  });

  test("reads texts that only look as if they had a member twice", async () => {
    const params = '{"a":"\\"a\\":1,\\"a\\":2","b":[{"a":1},{"a":2}],"A":{"a":{"a":":"}}}';
    expect(await read(message(params))).toEqual({
      a: '"a":1,"a":2',
      b: [{ a: 1 }, { a: 2 }],
      A: { a: { a: ":" } },
    });
  });
});
