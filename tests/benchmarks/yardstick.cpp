// The yardstick for the whole job: BRKGA on one thread for the peak-memory objective, with nothing but the standard
// library. Keys are doubles from std::mt19937_64, the ready list is a std::priority_queue, every chromosome is decoded
// to its end. Colocation groups are not supported.
//
// usage: yardstick GRAPH DEVICES EVALUATIONS SEED [KEYS]
//
// GRAPH is text: "ops tensors"; a line per op "runtime workspace", then its inputs, outputs and control inputs, each
// list led by its length; a line per tensor "bytes is_output". The best chromosome is written to KEYS, a key a line.
// Prints {"peak": bytes, "evaluations": count, "cpu_seconds": seconds}; the seconds leave out reading and writing.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <queue>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Bytes = std::int64_t;
using Keys = std::vector<double>;

struct Op {
    Bytes workspace = 0;
    std::vector<int> inputs, outputs, controls;
    std::vector<int> controlled;  // ops that have this one as a control input
};

struct Tensor {
    Bytes bytes = 0;
    bool is_output = false;
    int producer = -1;
    int activation = -1;  // number among the activations, -1 for a persistent tensor
    std::vector<int> consumers;
};

struct Graph {
    std::vector<Op> ops;
    std::vector<Tensor> tensors;
    std::vector<int> activations;  // their tensors

    explicit Graph(std::istream& text) {
        std::size_t num_ops, num_tensors;
        text >> num_ops >> num_tensors;
        ops.resize(num_ops);
        tensors.resize(num_tensors);
        for (Op& op : ops) {
            double runtime;
            text >> runtime >> op.workspace;
            for (auto* list : {&op.inputs, &op.outputs, &op.controls}) {
                std::size_t length;
                text >> length;
                list->resize(length);
                for (int& item : *list) text >> item;
            }
        }
        for (Tensor& tensor : tensors) text >> tensor.bytes >> tensor.is_output;
        if (!text) throw std::runtime_error("the graph's text is broken");
        for (int o = 0; o < static_cast<int>(num_ops); ++o) {
            for (int t : ops[o].inputs) tensors[t].consumers.push_back(o);
            for (int t : ops[o].outputs) tensors[t].producer = o;
            for (int c : ops[o].controls) ops[c].controlled.push_back(o);
        }
        for (int t = 0; t < static_cast<int>(num_tensors); ++t) {
            if (tensors[t].producer < 0) continue;
            tensors[t].activation = static_cast<int>(activations.size());
            activations.push_back(t);
        }
    }
};

// Peak memory of the plan behind a chromosome.
class Decoder {
  public:
    Decoder(const Graph& graph, int devices)
        : graph(graph), devices(devices), num_ops(static_cast<int>(graph.ops.size())) {}

    std::size_t num_keys() const { return graph.ops.size() * (devices + 1) + graph.activations.size() * devices; }

    double operator()(const Keys& keys) {
        event_key = keys.data() + static_cast<std::size_t>(num_ops) * devices;
        place(keys);
        count();
        peak = memory;
        for (int o = 0; o < num_ops; ++o) {
            if (waits[o] == 0) add_ready(o);
        }
        while (!ready.empty()) {
            const int event = ready.top().number;
            ready.pop();
            if (event < num_ops) run(event);
            else copy((event - num_ops) / devices, (event - num_ops) % devices);
        }
        return static_cast<double>(*std::max_element(peak.begin(), peak.end()));
    }

  private:
    struct Event {
        double key;
        int number;  // an op, or num_ops + activation * devices + device; the keys of events stand in this order
        bool operator<(const Event& other) const {
            return key != other.key ? key < other.key : number > other.number;
        }
    };

    struct Holding {  // of one activation on one device
        int uses = 0;  // reads and copies still to come
        bool awaited = false;  // a copy to this device is due
    };

    const Graph& graph;
    const int devices, num_ops;
    const double* event_key = nullptr;
    std::vector<int> device, waits;
    std::vector<Holding> holdings;
    std::vector<Bytes> memory, peak;
    std::priority_queue<Event> ready;

    Holding& holding(const Tensor& tensor, int where) { return holdings[tensor.activation * devices + where]; }

    void add_ready(int number) { ready.push({event_key[number], number}); }

    void place(const Keys& keys) {
        device.resize(num_ops);
        auto first = keys.begin();
        for (int o = 0; o < num_ops; ++o, first += devices) {
            device[o] = static_cast<int>(std::max_element(first, first + devices) - first);
        }
    }

    // What every op waits for, what every activation is used for, and the resident bytes.
    void count() {
        waits.assign(num_ops, 0);
        holdings.assign(graph.activations.size() * devices, {});
        memory.assign(devices, 0);
        for (const Tensor& tensor : graph.tensors) {
            if (tensor.activation < 0) {
                add_resident(tensor);
                continue;
            }
            const int home = device[tensor.producer];
            for (int o : tensor.consumers) {
                Holding& there = holding(tensor, device[o]);
                ++there.uses;
                ++waits[o];
                if (device[o] != home && !there.awaited) {
                    there.awaited = true;
                    ++holding(tensor, home).uses;
                }
            }
        }
        for (int o = 0; o < num_ops; ++o) waits[o] += static_cast<int>(graph.ops[o].controls.size());
    }

    void add_resident(const Tensor& tensor) {
        for (int d = 0; d < devices; ++d) {
            const auto here = [&](int o) { return device[o] == d; };
            if (std::any_of(tensor.consumers.begin(), tensor.consumers.end(), here)) memory[d] += tensor.bytes;
        }
    }

    void run(int o) {
        const Op& op = graph.ops[o];
        const int here = device[o];
        for (int t : op.outputs) memory[here] += graph.tensors[t].bytes;
        peak[here] = std::max(peak[here], memory[here] + op.workspace);
        for (int t : op.inputs) {
            const Tensor& tensor = graph.tensors[t];
            if (tensor.activation < 0) continue;
            const bool kept = tensor.is_output && device[tensor.producer] == here;
            if (--holding(tensor, here).uses == 0 && !kept) memory[here] -= tensor.bytes;
        }
        for (int t : op.outputs) {
            const Tensor& tensor = graph.tensors[t];
            if (holding(tensor, here).uses == 0 && !tensor.is_output) memory[here] -= tensor.bytes;
            for (int d = 0; d < devices; ++d) {
                if (holding(tensor, d).awaited) add_ready(num_ops + tensor.activation * devices + d);
            }
            arrive(tensor, here);
        }
        for (int follower : op.controlled) {
            if (--waits[follower] == 0) add_ready(follower);
        }
    }

    void copy(int activation, int to) {
        const Tensor& tensor = graph.tensors[graph.activations[activation]];
        const int home = device[tensor.producer];
        memory[to] += tensor.bytes;
        peak[to] = std::max(peak[to], memory[to]);
        if (--holding(tensor, home).uses == 0 && !tensor.is_output) memory[home] -= tensor.bytes;
        arrive(tensor, to);
    }

    void arrive(const Tensor& tensor, int where) {
        for (int o : tensor.consumers) {
            if (device[o] == where && --waits[o] == 0) add_ready(o);
        }
    }
};

class Search {
  public:
    Search(Decoder& decoder, std::uint64_t seed) : decoder(decoder), random(seed) {}

    // Runs whole generations; the best chromosome is first in the end.
    long run(long evaluations) {
        rows.assign(population, {Keys(decoder.num_keys()), 0.0});
        next = rows;
        for (Row& row : rows) draw(row);
        rank();
        long used = population;
        for (; used + population - elites <= evaluations; used += population - elites) breed();
        return used;
    }

    const Keys& best_keys() const { return rows.front().keys; }
    double best_cost() const { return rows.front().cost; }

  private:
    static constexpr int population = 100, elites = 20, mutants = 15;
    static constexpr double elite_bias = 0.7;

    struct Row {
        Keys keys;
        double cost;
    };

    Decoder& decoder;
    std::mt19937_64 random;
    std::uniform_real_distribution<double> uniform{0.0, 1.0};
    std::vector<Row> rows, next;

    void draw(Row& row) {
        for (double& key : row.keys) key = uniform(random);
        row.cost = decoder(row.keys);
    }

    void rank() {
        const auto cheaper = [](const Row& left, const Row& right) { return left.cost < right.cost; };
        std::stable_sort(rows.begin(), rows.end(), cheaper);
    }

    void breed() {
        std::copy_n(rows.begin(), elites, next.begin());
        for (int i = elites; i < population - mutants; ++i) {
            const Keys& elite = rows[random() % elites].keys;
            const Keys& other = rows[elites + random() % (population - elites)].keys;
            Row& child = next[i];
            for (std::size_t k = 0; k < child.keys.size(); ++k) {
                child.keys[k] = uniform(random) < elite_bias ? elite[k] : other[k];
            }
            child.cost = decoder(child.keys);
        }
        for (int i = population - mutants; i < population; ++i) draw(next[i]);
        std::swap(rows, next);
        rank();
    }
};

int main(int argc, char** argv) try {
    if (argc < 5 || argc > 6) throw std::runtime_error("usage: yardstick GRAPH DEVICES EVALUATIONS SEED [KEYS]");
    std::ifstream text(argv[1]);
    const Graph graph(text);
    Decoder decoder(graph, std::stoi(argv[2]));
    Search search(decoder, std::stoull(argv[4]));
    const std::clock_t start = std::clock();
    const long evaluations = search.run(std::stol(argv[3]));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::cout << std::fixed << std::setprecision(0) << "{\"peak\": " << search.best_cost()
              << ", \"evaluations\": " << evaluations << ", \"cpu_seconds\": " << std::setprecision(4) << seconds << "}\n";
    if (argc == 6) {
        std::ofstream keys(argv[5]);
        for (double key : search.best_keys()) keys << std::setprecision(17) << key << "\n";
    }
} catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
}
