export type { SourceOptions } from "./source-options.ts";
export { verify } from "./verify.ts";
