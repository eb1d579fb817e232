#include <stdlib.h>
#include <string.h>

#include "pool.h"

#define CHUNK 4096

struct chunk {
    struct chunk *next;
    size_t used;
    char data[CHUNK];
};

struct pool {
    struct chunk *first;
    size_t count;
};

/*
 * pool_new makes an empty pool.
 * Whoever calls it frees it.
 */
struct pool *pool_new(void)
{
    struct pool *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->first = NULL;
    return p;
}

void *pool_get(struct pool *p, size_t n)
{
    struct chunk *c = p->first;

    n = (n + 15) & ~(size_t)15;
    if (n > CHUNK)
        return NULL;
    if (c == NULL || c->used + n > CHUNK) {
        c = malloc(sizeof *c);
        if (c == NULL)
            return NULL;
        c->next = p->first;
        c->used = 0;
        p->first = c;
    }
    c->used += n;
    p->count++;
    return c->data + c->used - n;
}

char *pool_copy(struct pool *p, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = pool_get(p, n);

    if (copy != NULL)
        memcpy(copy, s, n);
    return copy;
}

int pool_each(struct pool *p, int (*f)(void *data, size_t n))
{
    for (struct chunk *c = p->first; c != NULL; c = c->next) {
        int err = f(c->data, c->used);

        switch (err) {
        case 0:
            break;
        case 1:
            return 0;
        default:
            return err;
        }
    }
    return 0;
}

void pool_free(struct pool *p)
{
    struct chunk *c = p->first;

    while (c != NULL) {
        struct chunk *next = c->next;

        free(c);
        c = next;
    }
    free(p);
}
