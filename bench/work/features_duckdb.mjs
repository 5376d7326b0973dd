// The steps of examples/features/nba2k.yaml in DuckDB, the table at once, without selection and learning: TABLE THREADS.
// Needs the npm package @duckdb/node-api in the working folder. Prints "name number" lines.
import { createRequire } from "module";
const require = createRequire(process.cwd() + "/");
const { DuckDBInstance } = require("@duckdb/node-api");

const instance = await DuckDBInstance.create(":memory:", { threads: process.argv[3] });
const connection = await instance.connect();
const rows = async (sql) => (await connection.runAndReadAll(sql)).getRows();
const start = performance.now();
await connection.run(`CREATE TABLE raw AS SELECT * FROM read_csv('${process.argv[2]}', header=true, all_varchar=true)`);
const read = performance.now();
await connection.run(`CREATE TABLE derived AS WITH clean AS (
  SELECT full_name, rating::DOUBLE rating, jersey, coalesce(team, 'No Team') team,
    coalesce("position", 'Unknown_position') AS "position", strptime(b_day, '%m/%d/%y') b_day,
    split_part(height, ' / ', 2)::DOUBLE height, replace(split_part(weight, ' / ', 2), ' kg.', '')::DOUBLE weight,
    replace(salary, '$', '')::DOUBLE salary, CASE WHEN country = 'USA' THEN 'USA' ELSE 'Not-USA' END country,
    draft_year::INT draft_year, CASE draft_round WHEN 'Undrafted' THEN '0' ELSE draft_round END draft_round,
    coalesce(college, 'Unknown_college') college, 2000 + regexp_extract(version, '(\\d+)$', 1)::INT % 100 version_year
  FROM raw)
  SELECT *, version_year - year(b_day) age, version_year - draft_year experience, weight / (height * height) bmi,
    month(b_day) birth_month, (draft_year // 10) * 10 draft_decade, avg(salary) OVER w salary_roll_mean,
    coalesce(stddev_samp(salary) OVER w, 0) salary_roll_std
  FROM clean WINDOW w AS (ORDER BY version_year ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)`);
const numbers = ["rating", "version_year", "age", "experience", "bmi", "salary_roll_mean", "salary_roll_std", "birth_month",
  "draft_decade"];
const texts = {};
for (const name of ["team", "position", "country", "draft_round"])
  texts[name] = (await rows(`SELECT DISTINCT ${name} FROM derived`)).map((row) => String(row[0]));
const statistics = numbers.map((name) => `avg(${name}) m_${name}, nullif(stddev_pop(${name}), 0) d_${name}`);
const scaled = numbers.map((name) => `(${name} - m_${name}) / coalesce(d_${name}, 1) AS z_${name}`);
const indicators = Object.entries(texts).flatMap(([name, values]) =>
  values.map((value, at) => `(${name} = '${value.replace(/'/g, "''")}')::TINYINT AS "${name}__${at}"`));
await connection.run(`CREATE TABLE matrix AS
  WITH s AS (SELECT ${statistics.join(", ")}, avg(salary) m_salary, stddev_pop(salary) d_salary FROM derived)
  SELECT salary, (abs((salary - m_salary) / d_salary) > 2.5)::INT salary_anomaly, ${[...scaled, ...indicators].join(", ")}
  FROM derived, s`);
const seconds = (performance.now() - start) / 1000;
const count = Number((await rows("SELECT count(*) FROM matrix"))[0][0]);
console.log(`rows ${count}\nseconds ${seconds}\nread_seconds ${(read - start) / 1000}\nrows_s ${count / seconds}`);
process.exit(0);
