// The steps of examples/features/nba2k.yaml in Polars, the table at once, without selection and learning: TABLE.
// Needs the npm packages nodejs-polars and nodejs-polars-linux-x64-gnu in the working folder. Prints "name number" lines.
import { createRequire } from "module";
const require = createRequire(process.cwd() + "/");
const pl = require("nodejs-polars");

const start = performance.now();
const number = pl.Float64, whole = pl.Int32;
let table = pl.readCSV(process.argv[2], { inferSchemaLength: 0 });
const read = performance.now();
table = table.withColumns(
  pl.col("rating").cast(number),
  pl.col("team").fillNull(pl.lit("No Team")),
  pl.col("b_day").str.strptime(pl.Date, "%m/%d/%y").alias("born"),
  pl.col("height").str.extract("/ ([0-9.]+)", 1).cast(number),
  pl.col("weight").str.extract("/ ([0-9.]+) kg", 1).cast(number),
  pl.col("salary").str.extract("([0-9.]+)", 1).cast(number),
  pl.col("draft_year").cast(whole),
  pl.when(pl.col("country").eq(pl.lit("USA"))).then(pl.lit("USA")).otherwise(pl.lit("Not-USA")).alias("country"),
  pl.when(pl.col("draft_round").eq(pl.lit("Undrafted"))).then(pl.lit("0")).otherwise(pl.col("draft_round")).alias("draft_round"),
  pl.col("version").str.extract("([0-9]+)$", 1).cast(whole).plus(2000).alias("version_year"),
);
table = table.withColumns(
  pl.col("version_year").minus(pl.col("born").dt.year()).cast(number).alias("age"),
  pl.col("version_year").minus(pl.col("draft_year")).cast(number).alias("experience"),
  pl.col("weight").div(pl.col("height").mul(pl.col("height"))).alias("bmi"),
  pl.col("born").dt.month().cast(number).alias("birth_month"),
  pl.col("draft_year").minus(pl.col("draft_year").modulo(10)).cast(number).alias("draft_decade"),
  pl.col("version_year").cast(number).alias("version_year_number"),
);
table = table.sort("version_year");
table = table.withColumns(
  pl.col("salary").rollingMean({ windowSize: 5, minPeriods: 1 }).alias("salary_roll_mean"),
  pl.col("salary").rollingStd({ windowSize: 5, minPeriods: 1 }).fillNull(0).alias("salary_roll_std"),
);
const numbers = ["rating", "version_year_number", "age", "experience", "bmi", "salary_roll_mean", "salary_roll_std", "birth_month",
  "draft_decade"];
let matrix = table.select(
  ...numbers.map((name) => pl.col(name).minus(pl.col(name).mean()).div(pl.col(name).std()).alias("z_" + name)),
  pl.col("salary").minus(pl.col("salary").mean()).div(pl.col("salary").std()).abs().gt(2.5).cast(whole).alias("salary_anomaly"),
);
const dummies = table.select("team", "position", "country", "draft_round").toDummies();
matrix = matrix.hstack(dummies.getColumns ? dummies.getColumns() : dummies);
const seconds = (performance.now() - start) / 1000;
const rows = table.shape.height;
console.log(`rows ${rows}\nseconds ${seconds}\nread_seconds ${(read - start) / 1000}\nrows_s ${rows / seconds}`);
console.log(`columns ${matrix.width}`);
