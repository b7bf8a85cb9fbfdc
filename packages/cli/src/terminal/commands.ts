import type { RewindReport } from "@reins/api";
import { errorMessage } from "@reins/kit";
import { ConnectionError } from "@reins/sdk";
import { describeRewind } from "../commands/rewind.ts";
import { CliError } from "../errors.ts";
import { counted } from "../output.ts";
import type { Chat, ChoiceItem } from "./chat.ts";

/** A command that the terminal itself understands. */
export interface SlashCommand {
  readonly about: string;
  readonly argument?: string;
  /** What may follow its name. */
  readonly offers?: (chat: Chat) => Promise<readonly ChoiceItem[]>;
  readonly run: (chat: Chat, argument: string) => Promise<void> | void;
}

/** The commands, in the order of the help. */
export const COMMANDS: ReadonlyMap<string, SlashCommand> = new Map<string, SlashCommand>([
  [
    "help",
    {
      about: "show the commands and keys",
      run: (chat) => chat.dispatch({ type: "lines", lines: help(chat) }),
    },
  ],
  [
    "new",
    {
      about: "begin a session, with this agent or another",
      argument: "[agent]",
      offers: agents,
      run: (chat, agent) => chat.create(agent || (chat.state.session?.agent ?? "native")),
    },
  ],
  [
    "agents",
    {
      about: "choose an agent and begin a session",
      run: (chat) => chosen(chat, "Agents", agents, (id) => chat.create(id)),
    },
  ],
  [
    "sessions",
    {
      about: "list the sessions and continue one",
      run: (chat) => chosen(chat, "Sessions", sessions, (id) => chat.resume(id)),
    },
  ],
  [
    "resume",
    {
      about: "continue a session",
      argument: "[id]",
      offers: sessions,
      run: (chat, id) =>
        id ? chat.resume(id) : chosen(chat, "Sessions", sessions, (one) => chat.resume(one)),
    },
  ],
  ["fork", { about: "continue in a copy of this session", run: (chat) => chat.fork() }],
  [
    "rewind",
    {
      about: "go back to before a turn, with files and conversation",
      argument: "[turn]",
      offers: turns,
      run: (chat, turn) =>
        turn ? rewind(chat, turn) : chosen(chat, "Go back to before", turns, (one) => rewind(chat, one)),
    },
  ],
  [
    "mode",
    { about: "show or set the mode", argument: "[mode]", offers: settings("mode"), run: setter("mode") },
  ],
  [
    "model",
    { about: "show or set the model", argument: "[model]", offers: settings("model"), run: setter("model") },
  ],
  [
    "set",
    {
      about: "set another setting of the agent",
      argument: "<setting> <value>",
      offers: async ({ state }) =>
        state.settings.map(({ id, name }) => ({ value: id, label: id, about: name })),
      run: (chat, argument) => {
        const [id = "", value = ""] = argument.split(/\s+/);
        return setter(id)(chat, value);
      },
    },
  ],
  [
    "status",
    {
      about: "show the session, its settings and its cost",
      run: (chat) => chat.dispatch({ type: "lines", lines: status(chat) }),
    },
  ],
  [
    "plan",
    { about: "show the agent's plan", run: (chat) => chat.dispatch({ type: "lines", lines: plan(chat) }) },
  ],
  [
    "cancel",
    { about: "cancel the turn and the prompts that wait", run: (chat) => chat.cancel({ all: true }) },
  ],
  [
    "steer",
    {
      about: "send a message into the turn under way",
      argument: "<message>",
      run: (chat, text) => (text === "" ? chat.note("Say what is to be sent.") : chat.steer(text)),
    },
  ],
  ["allow", { about: "answer the question: allow once", run: (chat) => chat.answer("allow_once") }],
  ["always", { about: "answer the question: allow always", run: (chat) => chat.answer("allow_always") }],
  [
    "deny",
    {
      about: "answer the question: deny, with a reason",
      argument: "[reason]",
      run: (chat, note) => chat.answer("deny", note || undefined),
    },
  ],
  [
    "answer",
    {
      about: "answer what the agent asks you",
      argument: "[answer]",
      offers: async ({ forms }) => (forms.first?.choices ?? []).map((value) => ({ value, label: value })),
      run: answer,
    },
  ],
  [
    "questions",
    {
      about: "ask again what was left open",
      run: (chat) => {
        if (chat.state.session) chat.questions.askAgain(chat.state.session.id);
        if (!chat.question) chat.note("Nothing is asked.");
      },
    },
  ],
  ["quit", { about: "leave; the session stays", run: (chat) => chat.leave() }],
]);

/** The commands that answer a question. */
export const ANSWERS: ReadonlySet<string> = new Set(["allow", "always", "deny"]);

const COMMAND = /^\/([\w-]+)(?:\s+([\s\S]*))?$/;

/** What a line that the person entered begins with: a command of the terminal, with the rest of the line. */
export function commandIn(text: string): { readonly name: string; readonly argument: string } | undefined {
  const [, name, argument = ""] = COMMAND.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name, argument: argument.trim() };
}

/** Runs a command, or sends a prompt. `//` sends a text that begins with a slash. Errors are shown. */
export async function submit(chat: Chat, text: string): Promise<void> {
  try {
    const given = commandIn(text);
    const command = given && COMMANDS.get(given.name);
    if (command) return await command.run(chat, given.argument);
    if (given && !chat.state.commands.some(({ name }) => name === given.name)) {
      chat.note(`There is no command /${given.name}; see /help. With // it is sent as it is.`, "warn");
      return;
    }
    await chat.prompt(text.startsWith("//") ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof ConnectionError && error.code === "unreachable")
      return chat.note("Reins does not answer. Start it with reins up, or wait until it does.", "bad");
    const next = error instanceof CliError ? ` ${error.next}` : "";
    chat.note(`${errorMessage(error)}${next}`, "bad");
  }
}

/** Answers the oldest question of the agent, or lets the person choose the answer. */
async function answer(chat: Chat, text: string): Promise<void> {
  const { first } = chat.forms;
  if (!first) return chat.note("Nothing is asked.");
  const { message, choices } = first;
  const items = choices.map((value) => ({ value, label: value }));
  const chosen = text !== "" || items.length === 0 ? text : await chat.display?.choose(message, items);
  if (chosen === undefined) return;
  const isAnswered = chat.forms.first === first && chat.forms.answer(chosen);
  chat.note(
    isAnswered ? `Answered: ${chosen}` : "That answers nothing that is asked.",
    isAnswered ? "good" : "warn",
  );
}

async function agents(chat: Chat): Promise<readonly ChoiceItem[]> {
  const listed = await chat.reins.agents.list();
  return listed
    .filter(({ built_in, install }) => built_in || install !== null)
    .map(({ agent, name, enforcement }) => ({
      value: agent,
      label: agent,
      about: `${name}, verdicts ${enforcement.level}`,
    }));
}

function sessions(chat: Chat): Promise<readonly ChoiceItem[]> {
  return chat.sessions();
}

/** The turns of the session, the last one first. */
async function turns(chat: Chat): Promise<readonly ChoiceItem[]> {
  const { session } = chat.state;
  if (!session) return [];
  const found = await chat.reins.sessions.turns(session.id);
  return found.turns.toReversed().map(({ id, kind, prompt, files, in_effect }) => ({
    value: id,
    label: kind === "rewind" ? "the rewind" : (prompt ?? id),
    about: `${counted(files, "change")} of files${in_effect === false ? ", left out" : ""}`,
  }));
}

/** Shows what a rewind would do, and does it where the person wants that. */
async function rewind(chat: Chat, turn: string): Promise<void> {
  const { session } = chat.state;
  if (!session) return chat.note("There is no session.");
  const { sessions } = chat.reins;
  const show = (report: RewindReport, dryRun: boolean) =>
    chat.dispatch({ type: "lines", lines: describeRewind(report, dryRun).trimEnd().split("\n") });
  const plan = await sessions.rewind(session.id, turn, { dryRun: true });
  show(plan, true);
  const isHindered = plan.files.some(({ state }) => state === "conflict" || state === "lost");
  const ways = isHindered
    ? [{ value: "force", label: "Replace and restore what can be" }]
    : [{ value: "do", label: "Go back" }];
  const way = await chat.display?.choose("Go back?", [...ways, { value: "no", label: "Leave it as it is" }]);
  if (way === undefined || way === "no") return;
  show(await sessions.rewind(session.id, turn, { force: way === "force" }), false);
}

function settings(id: string) {
  return async (chat: Chat): Promise<readonly ChoiceItem[]> =>
    (chat.setting(id)?.choices ?? []).map(({ value, name }) => ({ value, label: value, about: name }));
}

/** Sets a setting, or lets the person choose its value. */
function setter(id: string) {
  return async (chat: Chat, value: string): Promise<void> => {
    if (value !== "") return chat.set(id, value);
    const setting = chat.setting(id);
    if (!setting) return chat.note(`This session has no ${id || "such setting"} to set.`, "warn");
    await chosen(chat, `${setting.name}, now ${setting.current}`, settings(id), (one) => chat.set(id, one));
  };
}

async function chosen(
  chat: Chat,
  title: string,
  offers: (chat: Chat) => Promise<readonly ChoiceItem[]>,
  use: (value: string) => Promise<void>,
): Promise<void> {
  const items = await offers(chat);
  if (items.length === 0) return chat.note("There is nothing to choose from.");
  const value = await chat.display?.choose(title, items);
  if (value !== undefined) await use(value);
}

const KEYS = [
  ["Enter", "send; Alt-Enter or \\ and Enter begin a line"],
  ["Tab", "complete /commands and @files; answer a question"],
  ["Esc", "cancel the turn"],
  ["Ctrl-C", "cancel the turn or clear the input; again: leave"],
  ["Up", "earlier inputs"],
] as const;

function help({ state }: Chat): string[] {
  const rows = [...COMMANDS].map(
    ([name, { argument = "", about }]) => [`/${name} ${argument}`.trim(), about] as const,
  );
  const own =
    state.commands.length === 0 ? [] : [`The agent has commands of its own; Tab after / lists them.`];
  return [...rows, ...KEYS]
    .map(([left, right]) => `  ${left.padEnd(24)} ${right}`)
    .concat(own.map((line) => `  ${line}`));
}

function plan({ state }: Chat): string[] {
  return state.plan.length === 0
    ? ["  There is no plan."]
    : state.plan.map(({ content, status }) => `  [${status}] ${content}`);
}

function status({ state }: Chat): string[] {
  const { session, settings: listed, usage, cost, queue } = state;
  if (!session) return ["  There is no session."];
  const rows = [
    ["session", session.id],
    ["agent", session.agent],
    ["folder", session.cwd],
    ["verdicts", session.enforcement ?? "not known yet"],
    ...listed.map(({ id, current }) => [id, current]),
    [
      "tokens",
      usage ? `${usage.used}${usage.size === undefined ? "" : ` of ${usage.size}`}` : "not reported",
    ],
    ["cost", cost ? `${cost.amount} ${cost.currency}` : "not reported"],
    ["queued", String(queue.length)],
  ];
  return rows.map(([name = "", value = ""]) => `  ${name.padEnd(14)} ${value}`);
}
