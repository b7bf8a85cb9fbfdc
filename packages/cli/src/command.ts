import { Argument, type Command, Option } from "commander";
import { EXIT, type ExitCode } from "./errors.ts";
import { commaList, repeated } from "./flags.ts";
import { homeFolder } from "./home.ts";
import { type Notice, noticeOnStderr, print } from "./output.ts";

/** One run of the command line: the global flags, and the exit code that a command sets. */
export interface Invocation {
  verbose: boolean;
  json: boolean;
  exitCode: number;
}

export function newInvocation(): Invocation {
  return { verbose: false, json: false, exitCode: EXIT.done };
}

interface InputOptions {
  /** Allowed values. */
  readonly choices?: readonly string[];
  /** The value without the flag, and how the help shows it. */
  readonly default?: readonly [value: unknown, shown?: string];
  /** The value without the flag, where the help shows none. */
  readonly absent?: () => unknown;
  readonly required?: boolean;
  /** Whether the flag may be repeated, or also holds several values separated by commas. */
  readonly many?: "repeated" | "commas";
  /** Parses what the user wrote; `name` is the flag, for error messages. */
  readonly read?: (text: string, name: string) => unknown;
  /** Parses the words of an argument that takes several. */
  readonly words?: (words: readonly string[]) => unknown;
}

/** An argument (`<id>`) or a flag (`--name <name>`) with its help. */
export type InputRow<Options extends InputOptions = InputOptions> = readonly [
  syntax: string,
  text: string,
  options?: Options,
];

export type Inputs<Options extends InputOptions = InputOptions> = Readonly<Record<string, InputRow<Options>>>;

/** The home folder: the flag, then `REINS_HOME`, then the default. */
export function homeInput(text: string) {
  const read = (folder: string) => homeFolder(folder, process.env);
  return ["--home <folder>", text, { read, absent: () => homeFolder(undefined, process.env) }] as const;
}

export const HOME = homeInput("the home folder");

/** The value that commander makes of an input: `<a...>` is a list, `<a>` a text, anything else a boolean. */
type Word<Syntax extends string> = Syntax extends `${string}...${">" | "]"}`
  ? readonly string[]
  : Syntax extends `${string}<${string}` | `[${string}`
    ? string
    : Syntax extends `--${string} [${string}`
      ? string | true
      : boolean;

/** The value of an input that is given. */
type Present<Syntax extends string, Options> = Options extends {
  readonly read: (...given: never[]) => infer Value;
}
  ? Value
  : Options extends { readonly words: (...given: never[]) => infer Value }
    ? Awaited<Value>
    : Options extends { readonly many: string }
      ? readonly string[]
      : Word<Syntax>;

/** The value of an input that is left out; `never` where it cannot be. */
type Missing<Syntax extends string, Options> = Syntax extends `<${string}` | `--no-${string}`
  ? never
  : Options extends { readonly default: unknown } | { readonly required: true }
    ? never
    : Options extends { readonly absent: () => infer Value }
      ? Value
      : undefined;

/** The values of inputs, by their names. */
export type ValuesOf<Given extends Inputs> = {
  readonly [Name in keyof Given]: Given[Name] extends readonly [
    infer Syntax extends string,
    string,
    infer Options,
  ]
    ? Present<Syntax, Options> | Missing<Syntax, Options>
    : Given[Name] extends readonly [infer Syntax extends string, string]
      ? Word<Syntax> | Missing<Syntax, unknown>
      : unknown;
};

/** The result of a command: printed as JSON with `--json`, else as text. */
export interface CommandResult {
  readonly json?: unknown;
  readonly text?: () => string;
  /** Reported after the text. */
  readonly notices?: readonly string[];
  readonly exitCode?: ExitCode;
}

interface RunContext {
  readonly verbose: boolean;
  /** Reports something beside the result, on stderr. */
  readonly notice: Notice;
}

/** What the exit codes of a command mean. */
export type ExitCodes = Partial<Record<keyof typeof EXIT, string>>;

export interface CommandRow<Given extends Inputs> {
  /** For a subcommand; the list of commands has the summaries of the others. */
  readonly summary?: string;
  readonly description: string;
  readonly inputs?: Given;
  /** The paragraphs of the help after the options. */
  readonly note?: string | undefined;
  readonly examples?: readonly string[];
  readonly codes: ExitCodes;
  readonly subcommands?: Readonly<Record<string, Declaration>>;
  /** Returns what to print; nothing if it printed itself. */
  readonly run: (
    values: ValuesOf<Given>,
    context: RunContext,
  ) => Promise<CommandResult | undefined> | Promise<void>;
}

/** Declares the flags, the help and the action of a command. */
export type Declaration = (command: Command, invocation: Invocation) => void;

/** Makes the declaration of a command from its row. */
export function command<const Given extends Inputs>(row: CommandRow<Given>): Declaration;
export function command(row: CommandRow<Inputs>): Declaration {
  const { summary, description, inputs = {}, subcommands = {}, codes } = row;
  return (declared, invocation) => {
    if (summary !== undefined) declared.summary(summary);
    declared.description(description);
    for (const input of Object.values(inputs)) declareInput(declared, input);
    declared.addHelpText("after", helpText(row, codes)).action(async () => {
      const values = await readValues(declared, inputs);
      const { verbose, json } = invocation;
      const result = await row.run(values, { verbose, notice: noticeOnStderr(json) });
      if (!result) return;
      if (result.exitCode !== undefined) invocation.exitCode = result.exitCode;
      if (json && result.json !== undefined) print(`${JSON.stringify(result.json)}\n`);
      if (json) return;
      print(result.text?.() ?? "");
      for (const message of result.notices ?? []) noticeOnStderr(false)(message);
    });
    for (const [name, declare] of Object.entries(subcommands)) declare(declared.command(name), invocation);
  };
}

/** Declares a command that only has subcommands. */
export function group(description: string, subcommands: Readonly<Record<string, Declaration>>): Declaration {
  return (declared, invocation) => {
    declared.description(description);
    for (const [name, declare] of Object.entries(subcommands)) declare(declared.command(name), invocation);
  };
}

/** The help after the options: paragraphs, examples and exit codes. */
export function helpText(
  { note, examples = [] }: Pick<CommandRow<Inputs>, "note" | "examples">,
  codes: ExitCodes,
): string {
  const meanings = new Map(Object.entries(codes));
  const exits = Object.entries(EXIT).flatMap(([name, code]) => {
    const meaning = meanings.get(name);
    return meaning === undefined ? [] : [`  ${String(code).padStart(2)}  ${meaning}`];
  });
  const indented = examples.map((example) => `  ${example}`);
  return [
    ...(note === undefined ? [] : ["", note]),
    ...(examples.length === 0 ? [] : ["", "Examples:", ...indented]),
    ...["", "Exit codes:", ...exits],
  ].join("\n");
}

function declareInput(declared: Command, [syntax, text, options = {}]: InputRow): void {
  const { choices, default: standard, required = false, many } = options;
  if (!syntax.startsWith("-")) {
    const argument = new Argument(syntax, text);
    if (choices) argument.choices(choices);
    if (standard) argument.default(...standard);
    declared.addArgument(argument);
    return;
  }
  const option = new Option(syntax, text).makeOptionMandatory(required);
  if (choices) option.choices(choices);
  if (many) option.argParser(many === "commas" ? commaList : repeated);
  if (standard) option.default(...standard);
  declared.addOption(option);
}

async function readValues(declared: Command, inputs: Inputs): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  const flags: Readonly<Record<string, unknown>> = declared.opts();
  let position = 0;
  for (const [name, [syntax, , { read, words, absent } = {}]] of Object.entries(inputs)) {
    const option = syntax.startsWith("-") ? new Option(syntax) : undefined;
    const given: unknown = option ? flags[option.attributeName()] : declared.processedArgs[position++];
    if (given === undefined) values[name] = absent?.();
    else if (words && Array.isArray(given)) values[name] = await words(given.map(String));
    else values[name] = read ? read(String(given), option?.long ?? syntax) : given;
  }
  return values;
}
