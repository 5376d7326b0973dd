/*
 * rule_code.h - what the rules about code share. Internal to analyze/.
 */
#ifndef PITOT_ANALYZE_RULE_CODE_H
#define PITOT_ANALYZE_RULE_CODE_H

#include "analyze/rule.h"

/* The stage's code profile where it can bear a finding: enough samples, most of the CPU time, of a stage that computes. */
const struct code_report *rule_code_profile(const struct evidence *evidence);
/* Whether the share is surely at least this: its interval counts, not its middle. */
bool rule_code_surely(const struct code_share *share, double least);
/* Elapsed seconds of the stage saved where `share` of its CPU time becomes `factor` times faster. */
double rule_code_saved_s(const struct evidence *evidence, double share, double factor);
/* Cites the share with its interval and number of samples. */
void rule_code_cite(struct finding *finding, const char *name, const struct code_share *share);

#endif
