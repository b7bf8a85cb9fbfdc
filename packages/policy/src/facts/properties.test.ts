import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attacks, ordinaryActions } from "../../test/corpus.ts";
import { Machine } from "../../test/machine.ts";
import type { Action } from "../action.ts";
import { isHarmless } from "../conditions/conditions.ts";
import { gatherFacts } from "./gather.ts";

let machine: Machine;

beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

function facts(payload: unknown): Promise<Action> {
  const event = { event_type: "pre_action" as const, session_id: "s", agent_id: "a", depth: 0, payload };
  return gatherFacts(event, machine.context("claude-code"));
}

const bash = (command: string): Promise<Action> => facts({ tool_name: "Bash", arguments: { command } });

/** Whether something outside the workspace is seen to be destroyed, or not all is seen. */
function showsDanger(action: Action): boolean {
  return (
    action.opaque ||
    action.effects.some(
      (effect) => effect.kind === "write" && effect.destroys && effect.place !== "workspace",
    )
  );
}

const commands = [...attacks(), ...ordinaryActions()].flatMap(({ command }) =>
  command === undefined ? [] : [command],
);
const whole = commands.filter((command) => !/\\$/.test(command));
const token = fc.oneof(
  fc.constantFrom(
    ..."'\"`$(){}[]<>|&;#\\\n\t ~*?!=-.,/@%^:+",
    "$(",
    "${",
    "$((",
    "<<E",
    "\nE\n",
    "&&",
    "||",
    ";;",
    "do",
    "done",
    "if",
    "fi",
    "then",
    "rm",
    "cat",
    "-rf",
    "\r",
    "\u00a0",
    "\u200b",
  ),
  fc.string({ maxLength: 6, unit: "binary" }),
);

describe("facts", () => {
  it("are gathered from any payload without failing, and never harmless without a known tool", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (payload) => {
        const action = await facts(payload);
        expect(isHarmless(action)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it("are gathered from any text without failing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(token, { maxLength: 30 }), async (tokens) => {
        const action = await bash(tokens.join(""));
        expect(action.doubts.join("")).not.toContain("could not be gathered");
      }),
      { numRuns: 300 },
    );
  });

  it("are gathered from damaged commands without failing", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...commands),
        fc.nat(),
        fc.nat(8),
        token,
        async (command, at, length, text) => {
          const start = at % (command.length + 1);
          const action = await bash(command.slice(0, start) + text + command.slice(start + length));
          expect(action.doubts.join("")).not.toContain("could not be gathered");
        },
      ),
      { numRuns: 300 },
    );
  });

  it("show a danger behind any command", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...whole),
        fc.constantFrom("\nrm -rf ~", "\nrm -rf ~\n", "\n{ rm -rf ~; }", '\n(rm -rf "$HOME")'),
        async (command, danger) => {
          expect(showsDanger(await bash(command + danger))).toBe(true);
        },
      ),
      { numRuns: 250 },
    );
  });

  it("show a danger before, inside and around any command", async () => {
    const surround = fc.constantFrom<(command: string) => string>(
      (command) => `rm -rf ~\n${command}`,
      (command) => `(\n${command}\n)\nrm -rf ~`,
      (command) => `if true; then\n${command}\nfi; rm -rf ~`,
      (command) => `echo "$(\n${command}\n)" $(rm -rf ~)`,
      (command) => `f() {\n${command}\n}; rm -rf ~`,
      (command) => `bash -c '${command.replaceAll("'", "'\\''")}'; rm -rf ~`,
      (command) => `cat <<'END_OF_IT' ; rm -rf ~\n${command}\nEND_OF_IT\n`,
      (command) => `: '${command.replaceAll("'", "'\\''")}' && rm -rf ~`,
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...whole), surround, async (command, around) => {
        expect(showsDanger(await bash(around(command)))).toBe(true);
      }),
      { numRuns: 250 },
    );
  });

  it("are never harmless for two commands of which one is not", async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...whole), fc.constantFrom(...whole), async (first, second) => {
        const [left, right, both] = await Promise.all([
          bash(first),
          bash(second),
          bash(`${first}\n${second}`),
        ]);
        if (!isHarmless(left) || !isHarmless(right)) expect(isHarmless(both)).toBe(false);
      }),
      { numRuns: 250 },
    );
  });

  it("are the same for the same action", async () => {
    for (const command of commands.slice(0, 40)) expect(await bash(command)).toEqual(await bash(command));
  });
});
