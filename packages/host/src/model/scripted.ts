export { runCommand, writeFile } from "./intent.ts";
export { type Scene, type Script, scene, scenes } from "./script.ts";
export { ScriptedModel, type ScriptedModelOptions, type SeenRequest } from "./scripted-model.ts";
export { attempt, call, cut, hold, type ModelStep, type Part, refuse, reply, say, think } from "./step.ts";
