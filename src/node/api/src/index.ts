/** Celador's tasks and decisions as typed values. Packages that have an engine give `celador` a port, and export what it returns. */

export type {
  Agent,
  AgentOf,
  AnyAgent,
  Elsewhere,
  LaterAgent,
  LaterPolicies,
  Policies,
  PoliciesOf,
  ReviewFilter,
  TaskOptions,
  Tool,
  User,
} from "./agent.js";
export {
  type CaseResult,
  type Celador,
  type Coverage,
  type Observing,
  type Share,
  type Source,
  type Testing,
  type TestReport,
  celador,
} from "./celador.js";
export type {
  Allowed,
  Credential,
  Decision,
  Finding,
  Kind,
  Limit,
  Obligation,
  ObservedStep,
  Origin,
  Question,
  Refused,
  Responded,
  Results,
  Step,
  Suspended,
  Switch,
  Turn,
  Verdict,
  Waiting,
} from "./decision.js";
export { CeladorError, Denied, type Diagnostic, InternalError, LoadError, MisuseError, StoreError, why } from "./errors.js";
export { type Json, type JsonObject, isObject } from "./json.js";
export type { Awaitable, Place, Port } from "./port.js";
export type { Answering, Maybe, Person, Review, ReviewOf, ReviewState } from "./review.js";
export type {
  AnyTask,
  CallReport,
  CallRequest,
  LaterTask,
  Offer,
  Patience,
  Scope,
  Status,
  Task,
  TaskOf,
  TaskState,
  Trial,
  TurnReport,
  Wait,
} from "./task.js";
