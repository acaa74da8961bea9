// The view of a chart of lines: the interface between one file per chart and the drawing, which knows no chart by name.

import type { Looks } from "./look";
import type { Model, Scope } from "./model";
import type { Readout, Reading } from "./readout";
import type { Scale, Spread } from "./scale";
import type { Hidden, Point, Series } from "./series";
import type { State } from "./state";
import type { Quantity } from "./units";

/** The input of every chart. */
export interface Context {
  readonly model: Model;
  readonly state: State;
  readonly looks: Looks;
  readonly hidden: Hidden;
}

export interface Axis {
  quantity: Quantity;
  title: string;
  /** The reader's choices, the default first. */
  spreads: Spread[];
  /** Whether a linear axis begins at zero. */
  fromZero: boolean;
}

/** Fitted lines, each as places to connect, and the places of knees. */
export interface Curves {
  fits: [x: number, y: number][][];
  knees: [x: number, y: number][];
}

/** One chart of lines over one figure's rows, with the reader's current choices. */
export interface View {
  x: Axis;
  y: Axis;
  series: Series[];
  /** The caption, where it depends on choices; else the report's caption stays. */
  caption?: string;
  /** The text in place of an empty chart. */
  empty?: string;
  /** A line across the chart: the value and its name. */
  reference?: [value: number, label: string];
  /** The lines that are drawn through a series' points instead of a line from each to the next. */
  curves?(series: Series): Curves;
  reading(point: Point, series: Series): Reading;
  /** Sentences on a visible series, below the chart. */
  words?(series: Series): string[];
  /** The title of the sentences. */
  wordsTitle?: string;
}

/** A kind of chart: makes the view again after every choice. `controls` are buttons beyond those of the axes. */
export interface ViewKind {
  name: string;
  view(context: Context, scope: Scope): View;
  controls?(context: Context, scope: Scope): HTMLElement[];
}

export type { Model, Readout, Scale };
