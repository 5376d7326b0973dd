/*
 * git.h - which commit a folder is at, read from .git without running git.
 */
#ifndef PITOT_RUN_GIT_H
#define PITOT_RUN_GIT_H

/* 40 (or 64) hex digits, or NULL outside a repository. Owned. */
char *git_commit_of(const char *folder);

#endif
