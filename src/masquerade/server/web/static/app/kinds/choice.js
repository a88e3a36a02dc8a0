// A choice: one of several options.

import { labelKind } from "../label_kind.js";

export const kind = {
  ...labelKind,
  name: "choice",
  fields: ["options", "allow_skip"],

  form: ({ options }) => ({ labels: options }),
};
