export { AuditExport, ContinuousExport, CursorError, CursorFile, type ExportState } from "./audit-export.ts";
export {
  type AuditDestination,
  DeliveryError,
  fileDestination,
  streamDestination,
  webhookDestination,
} from "./destinations.ts";
export {
  AUDIT_FORMATS,
  type AuditCursor,
  type AuditFormat,
  AuditRecords,
  FIRST,
  isCursorOf,
  readCursor,
} from "./records.ts";
