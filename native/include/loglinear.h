/*
 * loglinear: label sequences with trained chain models (linear-chain CRFs) from C and from languages that call C.
 *
 * A model is opened from a file: one that loglinear wrote, or a model of CRFsuite, Wapiti or CRF++. Opening maps or reads the
 * file once. One open model may label on several threads at the same time. docs/c.md has a complete program.
 *
 * Every function that can fail returns a loglinear_status, and loglinear_last_error then returns the reason. A NULL pointer where
 * none is allowed is a failure. Strings are UTF-8 and end with NUL. Free what a function returns only with the function that its
 * description names.
 *
 * Copyright and licence: Apache License 2.0, like all of loglinear.
 */
#ifndef LOGLINEAR_H
#define LOGLINEAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum loglinear_status {
    LOGLINEAR_OK = 0,
    LOGLINEAR_MISUSE = 1,   /* an argument that this file does not allow */
    LOGLINEAR_IO = 2,       /* the operating system cannot read a file */
    LOGLINEAR_MODEL = 3,    /* a file that is not a valid model */
    LOGLINEAR_DATA = 4,     /* bad content of a text or of attributes */
    LOGLINEAR_INTERNAL = 5  /* a bug in the library, or out of memory */
} loglinear_status;

/* The label of every item of a sequence whose labellings are all forbidden by the model's constraints. */
#define LOGLINEAR_NO_LABEL UINT32_MAX

/* An open model. */
typedef struct loglinear_model loglinear_model;

/* An attribute of an item: a name and a value, usually 1. */
typedef struct loglinear_attribute {
    const char *name;
    double value;
} loglinear_attribute;

/* An item of a sequence, such as a word of a sentence. `attributes` may be NULL if the item has none. */
typedef struct loglinear_item {
    const loglinear_attribute *attributes;
    size_t n_attributes;
} loglinear_item;

/* The library's version, such as "0.1.0". The string is never freed. */
const char *loglinear_version(void);

/*
 * The message of the last call that failed on this thread; "" if none did. The string is valid until the next failure on this
 * thread, and is never freed.
 */
const char *loglinear_last_error(void);

/*
 * Opens a model file and sets *model, to NULL on failure. The file may be replaced while it is open, but not changed in place.
 * loglinear_free frees the model.
 */
loglinear_status loglinear_open(const char *path, loglinear_model **model);

/* Frees a model, which no thread may use afterwards. NULL is ignored. */
void loglinear_free(loglinear_model *model);

/* Sets *n_labels to the number of labels. Labels are numbered from 0. */
loglinear_status loglinear_n_labels(const loglinear_model *model, size_t *n_labels);

/* Sets *name to the name of a label. The string is valid until the model is freed, and is not freed itself. */
loglinear_status loglinear_label_name(const loglinear_model *model, uint32_t label, const char **name);

/*
 * Labels one sequence, on the calling thread.
 *
 * items      an array of n_items items; may be NULL if n_items is 0.
 * labels     receives the label of each item, n_items numbers: the best label sequence.
 * marginals  receives the probability of each label of each item: n_items rows of one number per label. NULL to skip.
 *
 * Attributes that the model does not know are ignored. Values must be finite. On failure the arrays are unchanged.
 */
loglinear_status loglinear_label_sequence(const loglinear_model *model, const loglinear_item *items, size_t n_items,
                                          uint32_t *labels, double *marginals);

/*
 * Labels a text, and sets *labelled to what `loglinear tag` writes for it, ending with NUL; to NULL on failure.
 *
 * text             a line for each item, an empty line after each sequence; `length` bytes, which need not end with NUL. The lines
 *                  of a model with a template are columns between spaces or tabs: the columns of its training data without the
 *                  label. Other models read CRFsuite's lines of attributes, ATTRIBUTE or ATTRIBUTE:VALUE after tabs; text
 *                  before the first tab is ignored.
 * labelled         for columns, each line followed by a tab and the label; for attributes, only the label.
 *                  loglinear_free_text frees the text.
 * labelled_length  receives the length without the NUL. NULL to skip.
 *
 * The calling thread labels short texts; texts of 64 KiB and more are shared among all cores.
 */
loglinear_status loglinear_label_text(const loglinear_model *model, const char *text, size_t length, char **labelled,
                                      size_t *labelled_length);

/* Frees a text from loglinear_label_text. NULL is ignored. */
void loglinear_free_text(char *text);

#ifdef __cplusplus
}
#endif

#endif
