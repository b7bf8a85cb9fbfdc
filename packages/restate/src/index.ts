export { RestateApi, RestateError } from "./restate-api.ts";
export { RestateEngine, type RestateEngineOptions, type RestateSettings } from "./restate-engine.ts";
export { Endpoint } from "./services.ts";
