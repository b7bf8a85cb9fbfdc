import type { Operation } from "@reins/api";
import { Option } from "commander";
import { z } from "zod";
import {
  type CommandResult,
  type CommandRow,
  command,
  type Declaration,
  type ExitCodes,
  type InputRow,
  type Inputs,
  type ValuesOf,
} from "../command.ts";
import { CliError } from "../errors.ts";
import { readAmount, readCount } from "../flags.ts";
import type { Advice, ApiClient } from "./api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "./connect.ts";

/** The values of a command by the name of their input. */
type Values = Readonly<Record<string, unknown>>;

interface MemberOptions extends NonNullable<InputRow[2]> {
  /** Looks the value up with the API, such as an id by its prefix. */
  readonly find?: (text: string, client: ApiClient, values: Values) => Promise<string>;
  /** Set for an input that is no member of the operation. */
  readonly local?: true;
}

/** The members of an operation's params, query and body. */
type Members<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = z.output<Params> &
  z.output<Query> &
  NonNullable<z.output<Body>>;

/** The values of a row by the name of their input: as the operation has them, else as the input says. */
type RowValues<Given extends Inputs<MemberOptions>, Known> = {
  readonly [Name in keyof Given]: Name extends keyof Known ? Known[Name] : ValuesOf<Given>[Name];
};

/** A command that sends one operation of the API. */
interface OperationRow<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
  Given extends Inputs<MemberOptions>,
  RowValue = RowValues<Given, Members<Params, Query, Body>>,
> extends Omit<CommandRow<Inputs>, "description" | "codes" | "run" | "inputs"> {
  readonly operation: Operation<Params, Query, Body, Answer>;
  /** By default the summary of the operation. */
  readonly description?: string;
  /** By the member of the operation that each gives, which has its type, choices and range. */
  readonly inputs?: Given;
  /** Adds members that no input gives, and rejects values that contradict each other. */
  readonly complete?: (values: RowValue) => Values;
  /** Sends another request than the operation with these values. */
  readonly send?: (client: ApiClient, values: RowValue) => Promise<z.output<Answer>>;
  /** The JSON document is the response by default. */
  readonly output: (response: z.output<Answer>, values: RowValue) => CommandResult | Promise<CommandResult>;
  /** What to do about a problem, by its code. */
  readonly advice?: Advice;
  readonly jsonHelp?: string;
  readonly codes?: ExitCodes;
}

/** Declares a command from an operation: its flags, its request and its JSON output. */
export function operationCommand<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
  const Given extends Inputs<MemberOptions>,
>(row: OperationRow<Params, Query, Body, Answer, Given>): Declaration;
export function operationCommand(
  row: OperationRow<
    z.ZodType,
    z.ZodType,
    z.ZodType,
    z.ZodType,
    Inputs<MemberOptions>,
    Record<string, unknown>
  >,
): Declaration {
  const { operation, inputs = {}, jsonHelp = CLIENT.json[1], codes, note } = row;
  const members = Object.entries(inputs).map(([name, input]) => [name, memberInput(operation, name, input)]);
  const own: Inputs = Object.fromEntries(members);
  return command({
    ...row,
    description: row.description ?? operation.summary,
    inputs: { ...own, ...CLIENT, json: ["--json", jsonHelp] },
    note: note === undefined ? CLIENT_HELP : `${note}\n\n${CLIENT_HELP}`,
    codes: { ...CLIENT_CODES, ...codes },
    async run({ home, url, secret, json, ...given }) {
      const values: Record<string, unknown> = given;
      Object.assign(values, row.complete?.(values));
      requireChange(operation, inputs, values);
      return withClient({ home, url, secret, json }, async (client) => {
        for (const [name, [, , options]] of Object.entries(inputs))
          if (options?.find) values[name] = await options.find(String(values[name]), client, values);
        const response = await (row.send?.(client, values) ??
          client.send(operation, { ...requestOf(operation, values), advice: row.advice }));
        return { json: response, ...(await row.output(response, values)) };
      });
    },
  });
}

/** Completes an input with the choices, the type and the range of its member. */
function memberInput(
  operation: Operation,
  name: string,
  [syntax, text, options = {}]: InputRow<MemberOptions>,
): InputRow {
  const schema = memberSchema(operation, name);
  if (!schema && !options.local) throw new Error(`${operation.id} has no member ${name}`);
  const type = schema && unwrap(schema);
  const isFlag = syntax.startsWith("-");
  const derived = {
    ...(type instanceof z.ZodEnum && { choices: type.options.map(String) }),
    ...(type instanceof z.ZodArray && isFlag && !options.read && ({ many: "commas" } as const)),
    ...(type instanceof z.ZodNumber && {
      read: (given: string, flag: string) => readNumber(given, flag, type),
    }),
    required: isFlag && schema !== undefined && !schema.safeParse(undefined).success && !options.default,
  };
  return [syntax, text, { ...derived, ...options }];
}

function readNumber(text: string, flag: string, { isInt, minValue, maxValue }: z.ZodNumber): number {
  const [least, most] = [minValue ?? 0, maxValue ?? Number.MAX_SAFE_INTEGER];
  if (isInt) return readCount(text, flag, most);
  return readAmount(text, flag, { what: `a number from ${least} to ${most}`, least, most });
}

/** Rejects a change that changes nothing. */
function requireChange(operation: Operation, inputs: Inputs, values: Values): void {
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
