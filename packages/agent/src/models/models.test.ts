import { describe, expect, it } from "vitest";
import { modelConfigFrom, modelsFrom } from "./models.ts";

const models = (env: Record<string, string>) => modelsFrom(modelConfigFrom(env));
const anthropic = { ANTHROPIC_API_KEY: "k" };
const openai = { OPENAI_API_KEY: "k" };
const local = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };

async function failure(model: ReturnType<ReturnType<typeof models>["open"]>): Promise<unknown> {
  const request = { system: "", messages: [], tools: [], thoughtLevel: "default" as const };
  try {
    for await (const _ of model.stream(request, new AbortController().signal));
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("the models of an environment", () => {
  it.each([
    ["nothing", {}, "demo"],
    ["empty variables", { ANTHROPIC_API_KEY: " ", OPENAI_API_KEY: "" }, "demo"],
    ["a key of Anthropic", anthropic, "anthropic:claude-sonnet-5-5"],
    ["a token of Anthropic", { ANTHROPIC_AUTH_TOKEN: "t" }, "anthropic:claude-sonnet-5-5"],
    ["a key of OpenAI", openai, "openai:gpt-6.1-terra"],
    ["a server of one's own and a name", { ...local, REINS_MODEL: "qwen3" }, "openai-chat:qwen3"],
    ["a server that knows Responses", { ...local, OPENAI_API: "responses", REINS_MODEL: "x" }, "openai:x"],
    ["both keys", { ...anthropic, ...openai }, "anthropic:claude-sonnet-5-5"],
    ["a wish", { ...anthropic, REINS_MODEL: "claude-opus-5" }, "anthropic:claude-opus-5"],
    ["a wish that needs no key", { ...anthropic, REINS_MODEL: "demo" }, "demo"],
    ["a name of OpenAI's without a key", { REINS_MODEL: "gpt-6-sol" }, "openai:gpt-6-sol"],
  ])("have the right default with %s", (_, env, id) => {
    expect(models(env).defaultId).toBe(id);
    expect(models(env).open(id).info.id).toBe(id);
  });

  it("include every accessible model and demo", () => {
    expect(models({}).choices).toEqual(["demo"]);
    expect(models(anthropic).choices).toContain("anthropic:claude-opus-5-5");
    expect(models({ ...local, REINS_MODEL: "qwen3" }).choices).toEqual(["openai-chat:qwen3", "demo"]);
  });

  it("have the context, the length of answers and the senses that the operator says", () => {
    const known = { qwen3: { contextTokens: 40_000, maxOutputTokens: 2_000, images: false } };
    const { choices, open } = modelsFrom({ ...modelConfigFrom(local), known });
    expect(choices).toContain("openai-chat:qwen3");
    expect(open("qwen3").info).toMatchObject(known.qwen3);
    expect(open("openai-chat:other").info).toMatchObject({ contextTokens: 128_000, images: true });
  });

  it("are opened once and shared by sessions", () => {
    const all = models(anthropic);
    expect(all.open("claude-opus-5")).toBe(all.open("anthropic:claude-opus-5"));
  });

  it.each([
    ["claude-opus-5", "set ANTHROPIC_API_KEY"],
    ["openai:gpt-6-sol", "set OPENAI_API_KEY"],
    ["nonsense", "there is no model nonsense"],
  ])("that cannot run report the reason on request: %s", async (id, words) => {
    expect(await failure(models({}).open(id))).toMatchObject({
      code: "not_configured",
      isRetryable: false,
      message: expect.stringContaining(words),
    });
  });
});
