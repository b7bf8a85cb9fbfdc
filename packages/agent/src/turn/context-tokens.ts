import { tokensIn, tokensOfAll } from "../models/tokens.ts";
import type { Turn } from "./turn.ts";

/** How many tokens a conversation has, roughly, with what goes before it. */
export function contextTokens({ messages, setting }: Turn): number {
  const { system, tools } = setting;
  const described = JSON.stringify(tools.map(({ parameters, description }) => [parameters, description]));
  return tokensIn(system) + tokensIn(described) + tokensOfAll(messages);
}
