/** How a model is told to think: by effort, by a budget of tokens, or not at all. */
export type ThinkingStyle = "adaptive" | "budget" | "none";

/** What is known of a family of models. */
export interface KnownModel {
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly thinking: ThinkingStyle;
}

/** The model that is used when nobody names one. */
export const DEFAULT_ANTHROPIC_MODEL = "claude-sonnet-5-5";

/** The models that are offered where there is a key. */
export const OFFERED_ANTHROPIC_MODELS: readonly string[] = [
  "claude-sonnet-5-5",
  "claude-opus-5-5",
  "claude-haiku-5-5",
];

const KNOWN: readonly (readonly [RegExp, KnownModel])[] = [
  [
    /^claude-(?:haiku|sonnet|opus)-4-5/,
    { contextTokens: 200_000, maxOutputTokens: 32_000, thinking: "budget" },
  ],
  [/^claude-3/, { contextTokens: 200_000, maxOutputTokens: 8_192, thinking: "none" }],
  [/^claude-/, { contextTokens: 200_000, maxOutputTokens: 32_000, thinking: "adaptive" }],
];

/** What is known of a model by its name; of others, what is safe to assume. */
export function knownAnthropic(model: string): KnownModel {
  const found = KNOWN.find(([name]) => name.test(model))?.[1];
  return found ?? { contextTokens: 128_000, maxOutputTokens: 8_192, thinking: "none" };
}
