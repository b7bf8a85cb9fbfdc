import { type Conversation, mentionOf, resultsAfter } from "./conversation.ts";
import { type ModelStep, reply, say } from "./step.ts";

/**
 * What a scripted model answers. It sees one request and nothing else: agents ask on the side (for titles, for
 * judgements), repeat what failed and start again from a stored history, so whatever it remembered would be wrong.
 */
export type Script = (conversation: Conversation) => ModelStep | Promise<ModelStep>;

/** One exchange: a word that its prompt holds, and what the model does, one step for each result that came back. */
export interface Scene {
  readonly prompt: string;
  readonly steps: readonly ModelStep[];
}

/** One scene of a script. */
export function scene(prompt: string, ...steps: readonly ModelStep[]): Scene {
  return { prompt, steps };
}

/** A script of scenes. A prompt that is in none gets a plain answer, and so does a scene that has come to its end. */
export function scenes(...all: readonly Scene[]): Script {
  return (conversation) => {
    const mentioned = all.map((each) => ({ ...each, at: mentionOf(each.prompt, conversation) }));
    const current = mentioned.reduce<(typeof mentioned)[number] | undefined>(
      (last, each) => (each.at > (last?.at ?? -1) ? each : last),
      undefined,
    );
    if (!current) return reply(say("Hello."));
    return current.steps[resultsAfter(current.at, conversation).length] ?? reply(say("Done."));
  };
}
