// What a chart of lines shows: the interface between one file per chart and the drawing, which knows no chart by name.

import type { Looks } from "./look";
import type { Model, Scope } from "./model";
import type { Readout, Reading } from "./readout";
import type { Scale, Spread } from "./scale";
import type { Hidden, Point, Series } from "./series";
import type { State } from "./state";
import type { Quantity } from "./units";

/** What every chart is given. */
export interface Context {
  readonly model: Model;
  readonly state: State;
  readonly looks: Looks;
  readonly hidden: Hidden;
}

export interface Axis {
  quantity: Quantity;
  title: string;
  /** What the reader may choose from, the default first. */
  spreads: Spread[];
  /** Whether a linear axis begins at zero. */
  fromZero: boolean;
}

/** One chart of lines over one figure's rows, as the reader's choices stand now. */
export interface View {
  x: Axis;
  y: Axis;
  series: Series[];
  /** What to say instead of an empty chart. */
  empty?: string;
  /** A line across the chart: the value and its name. */
  reference?: [value: number, label: string];
  /** Curves drawn with a series: fitted lines, as points to connect; and places of knees in x. */
  curves?(series: Series): { fits: [x: number, y: number][][]; knees: number[] };
  reading(point: Point, series: Series): Reading;
  /** One sentence or two on a visible series, below the chart. */
  words?(series: Series): string[];
}

/** A kind of chart: makes the view again after every choice. `controls` are buttons beyond those of the axes. */
export interface ViewKind {
  name: string;
  view(context: Context, scope: Scope): View;
  controls?(context: Context, scope: Scope): HTMLElement[];
}

export type { Model, Readout, Scale };
