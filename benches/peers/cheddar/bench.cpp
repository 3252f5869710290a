// Times Cheddar's products, rotations and bootstrappings as `cargo xtask bench` times ours: alone
// (one, then a wait) and queued (many, then a wait), the least of several runs, every slot of every
// result compared. `cheddar_bench PARAMETERS.json`; a line of JSON for each operation.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "UserInterface.h"
#include "extension/BootContext.h"

using namespace cheddar;
using word = uint32_t;
using Json = nlohmann::json;
using Slots = std::vector<Complex>;

constexpr int kRuns = 7;

struct Bench {
  Json file;
  std::unique_ptr<Parameter<word>> parameters;
  std::shared_ptr<BootContext<word>> context;
  std::unique_ptr<UserInterface<word>> user;
  int slots;

  explicit Bench(const char* path) {
    std::ifstream(path) >> file;
    const auto pairs = [](const Json& list) {
      std::vector<std::pair<int, int>> all;
      for (const auto& pair : list) all.emplace_back(pair[0], pair[1]);
      return all;
    };
    const auto words = [this](const char* name) {
      return file.value(name, std::vector<word>());
    };
    std::pair<int, int> base = {0, 0};
    if (file.contains("additional_base")) {
      base = {file["additional_base"][0], file["additional_base"][1]};
    }
    const int log_degree = file["log_degree"];
    slots = 1 << (log_degree - 1);
    parameters = std::make_unique<Parameter<word>>(
        log_degree, std::ldexp(1.0, file["log_default_scale"].get<int>()),
        file["default_encryption_level"].get<int>(), pairs(file["level_config"]),
        words("main_primes"), words("auxiliary_primes"), words("terminal_primes"), base);
    parameters->SetDenseHammingWeight(file["dense_hamming_weight"]);
    parameters->SetSparseHammingWeight(file["sparse_hamming_weight"]);
    const BootParameter boot(parameters->max_level_, file["num_cts_levels"].get<int>(),
                             file["num_stc_levels"].get<int>());
    context = std::dynamic_pointer_cast<BootContext<word>>(
        BootContext<word>::Create(*parameters, boot));
    user = std::make_unique<UserInterface<word>>(context);
  }

  Slots random() const {
    Slots values(slots);
    Random::SampleUniformComplex(values.data(), slots, -1.0, 1.0);
    return values;
  }

  void encrypt(Ciphertext<word>& to, const Slots& values, int level) const {
    const double scale = level <= file["default_encryption_level"].get<int>()
                             ? parameters->GetScale(level)
                             : parameters->GetRescalePrimeProd(level);
    Plaintext<word> plain;
    context->encoder_.Encode(plain, level, scale, values, 0);
    user->Encrypt(to, plain);
  }

  // The largest error of any slot.
  double error(const Ciphertext<word>& of, const Slots& right) const {
    Plaintext<word> plain;
    user->Decrypt(plain, of);
    Slots values;
    context->encoder_.Decode(values, plain);
    double most = 0;
    for (int i = 0; i < slots; i++) most = std::max(most, std::abs(values[i] - right[i]));
    return most;
  }

  int limbs(int level) const { return parameters->LevelToNP(level).GetNumQ(); }

  // Milliseconds of `count` calls, the least of several runs after one that is not counted.
  template <typename Call>
  static double time(int count, Call call) {
    double least = 1e30;
    for (int run = 0; run <= kRuns; run++) {
      cudaDeviceSynchronize();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < count; i++) call();
      cudaDeviceSynchronize();
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      if (run > 0) least = std::min(least, took.count() / count);
    }
    return least;
  }

  template <typename Call>
  void report(const char* path, const char* op, int level, int many, const Ciphertext<word>& result,
              const Slots& right, Call call) const {
    const double alone = time(1, call), queued = time(many, call);
    std::printf(
        "{\"peer\":\"Cheddar\",\"parameters\":\"%s\",\"op\":\"%s\",\"limbs\":%d,\"ms\":%.4f,"
        "\"ms_queued\":%.4f,\"largest_error\":%.3g}\n",
        path, op, limbs(level), alone, queued, error(result, right));
    std::fflush(stdout);
  }
};

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: cheddar_bench PARAMETERS.json\n");
    return 2;
  }
  const char* path = argv[1];
  Bench bench(path);
  const int top = bench.parameters->max_level_;
  const int distance = 1234;
  bench.user->PrepareRotationKey(distance, top);
  std::vector<int> done;
  for (const int wanted : {45, 23, 10}) {
    int level = 1;
    for (int other = 1; other <= top; other++) {
      if (std::abs(bench.limbs(other) - wanted) < std::abs(bench.limbs(level) - wanted)) {
        level = other;
      }
    }
    if (std::count(done.begin(), done.end(), level) > 0) continue;
    done.push_back(level);
    const Slots x = bench.random(), y = bench.random();
    Slots product(bench.slots), rotated(bench.slots);
    for (int i = 0; i < bench.slots; i++) {
      product[i] = x[i] * y[i];
      rotated[i] = x[(i + distance) % bench.slots];
    }
    Ciphertext<word> a, b, result;
    bench.encrypt(a, x, level);
    bench.encrypt(b, y, level);
    bench.report(path, "mul", level, 64, result, product, [&] {
      bench.context->HMult(result, a, b, bench.user->GetMultiplicationKey(), true);
    });
    bench.report(path, "rotate", level, 64, result, rotated, [&] {
      bench.context->HRot(result, a, bench.user->GetRotationKey(distance), distance);
    });
  }
  bench.context->PrepareEvalMod();
  bench.context->PrepareEvalSpecialFFT(bench.slots);
  EvkRequest request;
  bench.context->AddRequiredRotations(request, bench.slots);
  bench.user->PrepareRotationKey(request);
  const Slots x = bench.random();
  Ciphertext<word> a, result;
  bench.encrypt(a, x, 0);
  bench.report(path, "bootstrap", 0, 4, result, x,
               [&] { bench.context->Boot(result, a, bench.user->GetEvkMap()); });
  bench.report(path, "bootstrap, minimal keys", 0, 4, result, x,
               [&] { bench.context->Boot(result, a, bench.user->GetEvkMap(), true); });
}
