import type { Operation } from "@reins/api";
import { Argument, type Command, Option } from "commander";
import { z } from "zod";
import { CliError, exitCodesHelp } from "../errors.ts";
import { commaList, readAmount, readCount } from "../flags.ts";
import { noticeOnStderr, print } from "../output.ts";
import { printableLine } from "../printable.ts";
import type { Advice, ApiClient } from "./api-client.ts";
import { CLIENT_CODES, CLIENT_HELP, type ClientFlags, clientFlags, withClient } from "./connect.ts";

/** The values of a command by the name of their input. */
export type Values = Readonly<Record<string, unknown>>;

interface InputOptions {
  /** Allowed values, where the schema of the operation does not list them. */
  readonly choices?: readonly string[];
  /** The value without the flag, and how the help shows it. */
  readonly default?: readonly [value: unknown, shown?: string];
  /** Converts what the user wrote, before anything is sent. */
  readonly read?: (text: string) => unknown;
  /** Converts the words of an argument that takes several. */
  readonly words?: (words: readonly string[]) => unknown;
  /** Looks the value up with the API, such as an id by its prefix. */
  readonly find?: (text: string, client: ApiClient, values: Values) => Promise<string>;
  /** Set for an input that is no member of the operation. */
  readonly local?: true;
}

/** An argument (`<id>`) or a flag (`--name <name>`) with its help. Its type, choices and range are the operation's. */
type Input = readonly [syntax: string, text: string, options?: InputOptions];

/** What a command prints. */
interface Printed {
  /** The JSON document; by default the response. */
  readonly json?: unknown;
  readonly text: () => string;
  /** Lines of a file that could not be read: notices after the text. */
  readonly faults?: { readonly file: string; readonly lines: readonly string[] };
}

/** A command that sends one operation of the API. */
interface OperationCommand<Answer extends z.ZodType> {
  readonly name: string;
  readonly operation: Operation<z.ZodType, z.ZodType, z.ZodType, Answer>;
  readonly summary: string;
  /** By default the summary of the operation. */
  readonly description?: string;
  /** By the member of the operation's params, query or body that each gives. */
  readonly inputs?: Readonly<Record<string, Input>>;
  /** Adds members that no input gives, and rejects values that contradict each other. */
  readonly complete?: (values: Values) => Values;
  /** Sends another request than the operation with these values. */
  readonly send?: (client: ApiClient, values: Values) => Promise<z.output<Answer>>;
  readonly output: (response: z.output<Answer>, values: Values) => Printed | Promise<Printed>;
  /** What to do about a problem, by its code. */
  readonly advice?: Advice;
  readonly jsonHelp?: string;
  readonly codes?: Parameters<typeof exitCodesHelp>[0];
  /** A paragraph of the help. */
  readonly note?: string;
  readonly examples: readonly string[];
}

/** Declares a command from an operation: its flags, its request and its JSON output. */
export function declareOperation<Answer extends z.ZodType>(
  parent: Command,
  row: OperationCommand<Answer>,
): void {
  const { name, operation, summary, inputs = {}, codes, note, examples } = row;
  const command = parent
    .command(name)
    .summary(summary)
    .description(row.description ?? operation.summary);
  for (const [member, input] of Object.entries(inputs)) declareInput(command, operation, member, input);
  const help = `${note === undefined ? "" : `\n${note}\n`}${CLIENT_HELP}\n\nExamples:\n`;
  clientFlags(command, row.jsonHelp)
    .addHelpText("after", help + examples.map((example) => `  ${example}`).join("\n"))
    .addHelpText("after", exitCodesHelp({ ...CLIENT_CODES, ...codes }))
    .action(async () => {
      const flags = command.optsWithGlobals<ClientFlags>();
      const values = await readValues(command, operation, inputs);
      Object.assign(values, row.complete?.(values));
      requireChange(operation, inputs, values);
      const printed = await withClient(flags, async (client) => {
        for (const [member, [, , options]] of Object.entries(inputs))
          if (options?.find) values[member] = await options.find(String(values[member]), client, values);
        const response = await (row.send?.(client, values) ??
          client.send(operation, { ...requestOf(operation, values), advice: row.advice }));
        return { json: response, ...(await row.output(response, values)) };
      });
      if (flags.json) return print(`${JSON.stringify(printed.json)}\n`);
      print(printed.text());
      for (const line of printed.faults?.lines ?? [])
        noticeOnStderr(false)(`${printed.faults?.file}: ${printableLine(line)}`);
    });
}

function declareInput(command: Command, operation: Operation, member: string, input: Input): void {
  const [syntax, text, { choices, default: standard, local } = {}] = input;
  const schema = memberSchema(operation, member);
  if (!schema && !local) throw new Error(`${operation.id} has no member ${member}`);
  const type = schema && unwrap(schema);
  const allowed = choices ?? (type instanceof z.ZodEnum ? type.options.map(String) : undefined);
  if (!syntax.startsWith("-")) {
    const argument = new Argument(syntax, text);
    command.addArgument(allowed ? argument.choices(allowed) : argument);
    return;
  }
  const option = new Option(syntax, text);
  if (allowed) option.choices(allowed);
  if (type instanceof z.ZodArray && !input[2]?.read) option.argParser(commaList);
  if (standard) option.default(...standard);
  const isRequired = schema !== undefined && !schema.safeParse(undefined).success && !standard;
  command.addOption(option.makeOptionMandatory(isRequired));
}

/** Reads arguments and flags into values by member, with the types and ranges of the operation. */
async function readValues(
  command: Command,
  operation: Operation,
  inputs: Readonly<Record<string, Input>>,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  const flags: Values = command.opts();
  let position = 0;
  for (const [member, [syntax, , options = {}]] of Object.entries(inputs)) {
    const isFlag = syntax.startsWith("-");
    const given: unknown = isFlag
      ? flags[new Option(syntax).attributeName()]
      : command.processedArgs[position++];
    if (given === undefined) continue;
    const schema = memberSchema(operation, member);
    const type = schema && unwrap(schema);
    if (options.words && Array.isArray(given)) values[member] = await options.words(given.map(String));
    else if (options.read) values[member] = options.read(String(given));
    else if (type instanceof z.ZodNumber) values[member] = readNumber(String(given), flagName(syntax), type);
    else values[member] = given;
  }
  return values;
}

function readNumber(text: string, flag: string, { isInt, minValue, maxValue }: z.ZodNumber): number {
  const [least, most] = [minValue ?? 0, maxValue ?? Number.MAX_SAFE_INTEGER];
  if (isInt) return readCount(text, flag, most);
  return readAmount(text, flag, { what: `a number from ${least} to ${most}`, least, most });
}

/** Rejects a change that changes nothing. */
function requireChange(operation: Operation, inputs: Readonly<Record<string, Input>>, values: Values): void {
  if (operation.method !== "PATCH") return;
  const members = Object.keys(inputs).filter((member) => Object.hasOwn(shapeOf(operation.body), member));
  if (members.some((member) => values[member] !== undefined)) return;
  const flags = members.map((member) => flagName(inputs[member]?.[0] ?? ""));
  throw new CliError("Nothing says what to change.", {
    next: `Give ${flags.slice(0, -1).join(", ")} or ${flags.at(-1)}.`,
  });
}

function requestOf({ params, query, body }: Operation, values: Values) {
  const part = (schema: z.ZodType): Values =>
    Object.fromEntries(
      Object.keys(shapeOf(schema)).flatMap((name) =>
        values[name] === undefined ? [] : [[name, values[name]]],
      ),
    );
  return {
    params: part(params),
    query: part(query),
    body: body instanceof z.ZodObject ? part(body) : undefined,
  };
}

function memberSchema({ params, query, body }: Operation, member: string): z.ZodType | undefined {
  const found = { ...shapeOf(params), ...shapeOf(query), ...shapeOf(body) }[member];
  return found instanceof z.ZodType ? found : undefined;
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return schema instanceof z.ZodObject ? schema.shape : {};
}

/** The schema of a value that is there. */
function unwrap(schema: z.ZodType): unknown {
  let inner: unknown = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault)
    inner = inner.unwrap();
  return inner;
}

function flagName(syntax: string): string {
  return new Option(syntax).long ?? syntax;
}
