export { OtelExport, type OtelSettings } from "./otel-export.ts";
