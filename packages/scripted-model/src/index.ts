export type { Conversation, OfferedTool } from "./dialect.ts";
export {
  callMcpTool,
  fetchPage,
  type Intent,
  lookAround,
  readFile,
  runCommand,
  startAgent,
  Wordings,
  wordIntent,
  workLater,
  writeFile,
} from "./intent.ts";
export {
  attempt,
  call,
  hold,
  type ModelStep,
  type Part,
  refuse,
  reply,
  type Scene,
  type Script,
  say,
  scene,
  scenes,
  think,
} from "./script.ts";
export { ScriptedModel, type SeenRequest } from "./scripted-model.ts";
