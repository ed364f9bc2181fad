/*
 * Calls every function of the C library, for tests/native/test_c_library.py:
 *
 *     label MODEL text       labels a text in columns from stdin
 *     label MODEL sequences  labels sequences from stdin: lines of attributes and values between tabs, an empty line after each
 *                            sequence; writes each item's label, and the probabilities of all labels, between tabs
 *     label MODEL strain     opens, labels and frees 1,000 times; labels on four threads at once; passes what is not allowed
 */
#include <loglinear.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, MOST_ITEMS = 4096, MOST_ATTRIBUTES = 64 };

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, loglinear_last_error()); \
            exit(1); \
        } \
    } while (0)

static char input[MOST];

static loglinear_model *opened(const char *path)
{
    loglinear_model *model = NULL;
    EXPECT(loglinear_open(path, &model) == LOGLINEAR_OK);
    EXPECT(model != NULL);
    return model;
}

static int label_text(const loglinear_model *model)
{
    size_t length = fread(input, 1, MOST, stdin), labelled_length;
    char *labelled;
    if (loglinear_label_text(model, input, length, &labelled, &labelled_length) != LOGLINEAR_OK) {
        fprintf(stderr, "%s\n", loglinear_last_error());
        return 2;
    }
    EXPECT(strlen(labelled) == labelled_length);
    fwrite(labelled, 1, labelled_length, stdout);
    loglinear_free_text(labelled);
    return 0;
}

static void label_sequence(const loglinear_model *model, const loglinear_item *items, size_t n_items)
{
    size_t n_labels;
    EXPECT(loglinear_n_labels(model, &n_labels) == LOGLINEAR_OK);
    uint32_t *labels = malloc((n_items + 1) * sizeof *labels);
    double *marginals = malloc((n_items * n_labels + 1) * sizeof *marginals);
    EXPECT(labels != NULL && marginals != NULL);
    EXPECT(loglinear_label_sequence(model, items, n_items, labels, marginals) == LOGLINEAR_OK);
    for (size_t item = 0; item < n_items; ++item) {
        const char *name = "?";
        if (labels[item] != LOGLINEAR_NO_LABEL)
            EXPECT(loglinear_label_name(model, labels[item], &name) == LOGLINEAR_OK);
        fputs(name, stdout);
        for (size_t label = 0; label < n_labels; ++label)
            printf("\t%.17g", marginals[item * n_labels + label]);
        putchar('\n');
    }
    putchar('\n');
    free(labels);
    free(marginals);
}

static int label_sequences(const loglinear_model *model)
{
    static loglinear_attribute attributes[MOST_ITEMS][MOST_ATTRIBUTES];
    static loglinear_item items[MOST_ITEMS];
    size_t n_items = 0;
    size_t length = fread(input, 1, MOST - 1, stdin);
    input[length] = '\0';
    for (char *line = input, *next; *line != '\0'; line = next) {
        char *end = strchr(line, '\n');
        EXPECT(end != NULL);
        *end = '\0';
        next = end + 1;
        if (*line == '\0') {
            label_sequence(model, items, n_items);
            n_items = 0;
            continue;
        }
        size_t n = 0;
        for (char *name = strtok(line, "\t"); name != NULL; name = strtok(NULL, "\t")) {
            char *value = strtok(NULL, "\t");
            EXPECT(n < MOST_ATTRIBUTES && n_items < MOST_ITEMS && value != NULL);
            attributes[n_items][n].name = name;
            attributes[n_items][n++].value = strtod(value, NULL);
        }
        items[n_items].attributes = attributes[n_items];
        items[n_items++].n_attributes = n;
    }
    return 0;
}

enum { LENGTH = 7 };

/* A sequence whose items have one attribute each, which may be unknown to the model. */
static void sequence(loglinear_attribute *attributes, loglinear_item *items)
{
    static const char *const names[LENGTH] = {"w0", "w1", "w2", "w3", "w4", "w0", "no such attribute"};
    for (size_t at = 0; at < LENGTH; ++at) {
        attributes[at].name = names[at];
        attributes[at].value = 1.0 + (double)at / 4.0;
        items[at].attributes = &attributes[at];
        items[at].n_attributes = 1;
    }
}

static void *label_often(void *given)
{
    const loglinear_model *model = given;
    loglinear_attribute attributes[LENGTH];
    loglinear_item items[LENGTH];
    uint32_t first[LENGTH], labels[LENGTH];
    double marginals[LENGTH * 64];
    sequence(attributes, items);
    EXPECT(loglinear_label_sequence(model, items, LENGTH, first, NULL) == LOGLINEAR_OK);
    for (int time = 0; time < 2000; ++time) {
        EXPECT(loglinear_label_sequence(model, items, LENGTH, labels, time % 2 ? marginals : NULL) == LOGLINEAR_OK);
        EXPECT(memcmp(first, labels, sizeof labels) == 0);
    }
    /* The message of another thread's failure is not this thread's. */
    EXPECT(strcmp(loglinear_last_error(), "") == 0);
    EXPECT(loglinear_label_sequence(model, NULL, 1, labels, NULL) == LOGLINEAR_MISUSE);
    EXPECT(strstr(loglinear_last_error(), "items") != NULL);
    return NULL;
}

static void pass_what_is_not_allowed(const loglinear_model *model)
{
    loglinear_model *none = (loglinear_model *)input;
    const char *name;
    char *text;
    uint32_t label = 77;
    size_t n;
    loglinear_attribute nan = {"w0", 0.0};
    nan.value = strtod("nan", NULL);
    loglinear_item item = {&nan, 1};
    loglinear_item without = {NULL, 0};
    EXPECT(loglinear_open("no such file", &none) == LOGLINEAR_IO && none == NULL);
    EXPECT(strstr(loglinear_last_error(), "no such file") != NULL);
    EXPECT(loglinear_open(NULL, &none) == LOGLINEAR_MISUSE);
    EXPECT(loglinear_open(".", &none) == LOGLINEAR_MODEL);
    EXPECT(loglinear_n_labels(NULL, &n) == LOGLINEAR_MISUSE);
    EXPECT(loglinear_label_name(model, UINT32_MAX, &name) == LOGLINEAR_MISUSE);
    EXPECT(loglinear_label_text(model, NULL, 3, &text, &n) == LOGLINEAR_MISUSE && text == NULL);
    EXPECT(loglinear_label_text(model, NULL, 0, &text, &n) == LOGLINEAR_OK && n == 0 && *text == '\0');
    loglinear_free_text(text);
    EXPECT(loglinear_label_text(model, "\xff\xfe\n", 3, &text, NULL) == LOGLINEAR_DATA);
    EXPECT(loglinear_label_sequence(model, &item, 1, &label, NULL) == LOGLINEAR_DATA && label == 77);
    EXPECT(loglinear_label_sequence(model, &without, 1, &label, NULL) == LOGLINEAR_OK && label != 77);
    EXPECT(loglinear_label_sequence(model, NULL, 0, NULL, NULL) == LOGLINEAR_OK);
    loglinear_free(NULL);
    loglinear_free_text(NULL);
}

static int strain(const char *path)
{
    loglinear_attribute attributes[LENGTH];
    loglinear_item items[LENGTH];
    uint32_t labels[LENGTH];
    sequence(attributes, items);
    for (int time = 0; time < 1000; ++time) {
        loglinear_model *model = opened(path);
        EXPECT(loglinear_label_sequence(model, items, LENGTH, labels, NULL) == LOGLINEAR_OK);
        loglinear_free(model);
    }
    loglinear_model *model = opened(path);
    pass_what_is_not_allowed(model);
    pthread_t threads[4];
    for (int at = 0; at < 4; ++at)
        EXPECT(pthread_create(&threads[at], NULL, label_often, model) == 0);
    for (int at = 0; at < 4; ++at)
        EXPECT(pthread_join(threads[at], NULL) == 0);
    loglinear_free(model);
    puts(loglinear_version());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    if (strcmp(argv[2], "strain") == 0)
        return strain(argv[1]);
    loglinear_model *model = NULL;
    if (loglinear_open(argv[1], &model) != LOGLINEAR_OK) {
        fprintf(stderr, "%s\n", loglinear_last_error());
        return 3;
    }
    int code = strcmp(argv[2], "text") == 0 ? label_text(model) : label_sequences(model);
    loglinear_free(model);
    return code;
}
